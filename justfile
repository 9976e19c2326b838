# Everything `.ci/run` does, step by step.

default: check

# Format, lint, test, document
check:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings
    cargo test
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps

# The main job
run *args:
    cargo run --release -- run {{args}}

test *args:
    cargo test {{args}}

# Faults that the laws must catch
mutants:
    cargo run --release -- mutants lifecycle

# Bless the results of the last run
bless *suites:
    cargo run --release -- accept {{suites}}

# Real MCP servers for the suite mcp-reference
servers:
    suites/mcp-reference/install-servers.sh

bench:
    cargo bench --bench rank
    cargo bench --bench trials

# Licences and sources of dependencies
deny:
    cargo deny check licenses bans sources
