"""The games of this repository, each a package as anybody may build one."""
