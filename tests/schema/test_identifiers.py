"""No name of the schema is a keyword or a built-in name of a language that clients are written in.

Generators rename or escape such names, each in its own way, or write code that does not compile.
"""

import importlib
import pkgutil

import pytest

import croupier.v1

# The names that fields, oneofs and their cases must not have, in the languages whose generated code
# spells them as the schema does or in lower camel case.
KEYWORDS = {
    "Kotlin": "as break class continue do else false for fun if in interface is null object "
    "package return super this throw true try typealias typeof val var when while",
    "Python": "and as assert async await break class continue def del elif else except finally for "
    "from global if import in is lambda nonlocal not or pass raise return try while with yield",
    # Also the public methods of every object, which hide a field of their name.
    "Ruby": "alias and begin break case class clone def defined display do dup else elsif end "
    "ensure false for freeze hash if in inspect itself method methods module next nil not or redo "
    "rescue retry return self send super tap then true undef unless until when while yield",
    "Rust": "abstract as async await become box break const continue crate do dyn else enum extern "
    "false final fn for gen if impl in let loop macro match mod move mut override priv pub ref "
    "return self static struct super trait true try type typeof unsafe unsized use virtual where "
    "while yield",
    "Swift": "as associatedtype await break case catch class continue default defer deinit "
    "description do else enum extension fallthrough false fileprivate for func guard hashValue if "
    "import in init inout internal is let nil operator private precedencegroup protocol public "
    "repeat rethrows return self static struct subscript super switch throw throws true try "
    "typealias var where while",
    "TypeScript": "arguments await break case catch class const constructor continue debugger "
    "default delete do else enum eval export extends false finally for function if implements "
    "import in instanceof interface let new null package private protected public return static "
    "super switch this throw toString true try typeof var void while with yield",
}
# Their accessors have a prefix, or are in upper camel case, so that only these names collide: with
# the methods of every message.
ACCESSORS = {
    "C#": "calculate_size clone descriptor equals get_hash_code merge_from parser to_string",
    "Go": "descriptor proto_message proto_reflect reset string",
    "Java": "all_fields class default_instance_for_type descriptor descriptor_for_type "
    "initialization_error_string parser_for_type serialized_size unknown_fields",
    # The methods of Google\Protobuf\Internal\Message have no field's name after "get" or "set".
}
# The names that messages, enums and services must not have: a file of a client would have both.
BUILT_IN = {
    "C#": "Action Array Attribute Buffer Console Delegate Enum Environment Exception Func Index "
    "Lazy List Object Progress Random Range String Task Thread Timer Tuple Type Version",
    "Go": "Any Error String",
    "Java": "Boolean Byte Character Class Compiler Double Enum Error Exception Float Integer "
    "Iterable Long Math Module Number Object Override Package Process Record Runtime Short String "
    "System Thread Void",
    "Kotlin": "Any Array Error Int Lazy List Long Map Nothing Number Pair Result Set String Triple "
    "Unit",
    "PHP": "abstract and array as bool break callable case catch class clone const continue "
    "declare default die do echo else elseif empty enum eval exit extends false final finally "
    "float fn for foreach function global goto if implements include instanceof int interface "
    "isset iterable list match mixed namespace never new null object or parent print private "
    "protected public readonly require return self static string switch throw trait true try unset "
    "use var void while xor yield",
    "Python": "Exception False None True",
    "Ruby": "Array Class Comparable Data Dir File Float Hash Integer Kernel Method Module Object "
    "Proc Process Random Range Set Signal String Struct Thread Time",
    "Rust": "Box Clone Copy Debug Default Drop Eq Err Fn From Hash Into Iterator None Ok Option "
    "Ord Result Send Sized Some String Sync Vec",
    "Swift": "Any Array Bool Character Collection Data Date Dictionary Double Error Int Never "
    "Optional Protocol Range Result Sequence Set String Task Type",
    # Also the names of a browser.
    "TypeScript": "Array Blob Boolean Comment Date Document Element Error Event Exclude Extract "
    "File Function History Image Location Lock Map Node Notification Number Object Omit Option "
    "Partial Pick Position Promise Proxy Range Readonly Record Reflect RegExp Report Request "
    "Required Response Screen Selection Set Storage String Symbol Text Window Worker",
}
# PHP alone has a keyword `match`, and its generator calls the class PBMatch. A match is called so
# all the same: it is the resource of this API.
ALLOWED = {("Match", "PHP")}


def files():
    """The descriptors of all schemas."""
    names = [module.name for module in pkgutil.iter_modules(croupier.v1.__path__)]
    modules = (name for name in names if name.endswith("_pb2"))
    return [importlib.import_module(f"croupier.v1.{name}").DESCRIPTOR for name in modules]


def messages(file):
    """All messages of a file, nested ones included."""
    found = list(file.message_types_by_name.values())
    for message in found:
        found.extend(message.nested_types)
    return found


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def member_names():
    """The names of all fields and oneofs, by where they are."""
    return {
        each.full_name: each.name
        for file in files()
        for message in messages(file)
        for each in (*message.fields, *message.oneofs)
    }


def type_names():
    """The names of all messages, enums and services, by where they are."""
    return {
        each.full_name: each.name
        for file in files()
        for each in (
            *messages(file),
            *file.enum_types_by_name.values(),
            *file.services_by_name.values(),
        )
    }


def test_the_schema_is_found():
    assert len(files()) >= 10
    assert "croupier.v1.SubmitActionRequest.request_id" in member_names()
    assert "croupier.v1.SkystonesEvent.Dealt" in type_names()


@pytest.mark.parametrize("language", KEYWORDS)
def test_no_field_is_a_keyword(language):
    taken = set(KEYWORDS[language].split())
    found = {where for where, name in member_names().items() if {name, camel(name)} & taken}
    assert not found, language


@pytest.mark.parametrize("language", ACCESSORS)
def test_no_accessor_is_a_method_of_every_message(language):
    taken = set(ACCESSORS[language].split())
    assert not {where for where, name in member_names().items() if name in taken}, language


@pytest.mark.parametrize("language", BUILT_IN)
def test_no_type_hides_a_built_in_one(language):
    taken = {name.lower() for name in BUILT_IN[language].split()}
    assert not {
        where
        for where, name in type_names().items()
        if name.lower() in taken and (name, language) not in ALLOWED
    }, language


def test_no_field_has_the_name_of_its_message():
    # C# would give a class a property of its own name.
    pascal = {
        where: camel(name)[0].upper() + camel(name)[1:] for where, name in member_names().items()
    }
    assert not {
        where
        for where, name in pascal.items()
        if where.split(".")[-2] == name and not where.split(".")[-1].startswith("_")
    }


def test_no_class_of_java_exists_twice():
    # Each file has an outer class besides the classes of its messages, enums and services.
    outer = [file.GetOptions().java_outer_classname for file in files()]
    top = [name for where, name in type_names().items() if where.count(".") == 2]
    classes = [name.lower() for name in (*outer, *top)]
    assert all(outer)
    assert len(classes) == len(set(classes))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("csharp_namespace", "Croupier.V1"),
        ("go_package", "croupier/v1;croupierv1"),
        ("java_multiple_files", True),
        ("java_package", "com.croupier.v1"),
        ("objc_class_prefix", "CRV"),
        ("php_metadata_namespace", "Croupier\\V1\\Metadata"),
        ("php_namespace", "Croupier\\V1"),
        ("ruby_package", "Croupier::V1"),
    ],
)
def test_every_file_has_the_same_packages(option, value):
    assert {getattr(file.GetOptions(), option) for file in files()} == {value}
