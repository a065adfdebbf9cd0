//! Makes the stubs of the schemas that `croupier schema --plain --output ../schemas` writes. protoc
//! must be in the PATH.

use std::io;

const SCHEMAS: &str = "../schemas";

fn main() -> io::Result<()> {
    let services = ["catalog", "hint", "match"];
    tonic_prost_build::configure().build_server(false).compile_protos(
        &services.map(|name| format!("{SCHEMAS}/croupier/v1/{name}.proto")),
        &[SCHEMAS.to_string()],
    )
}
