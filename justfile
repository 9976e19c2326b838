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

# Sessions by the million; a seed prints the same journals everywhere
sim seed="1" turns="1000000":
    cargo run --release -- sim --seed {{seed}} --count {{turns}}
    cargo run --release -- sim --exhaustive

# The journals that show known mistakes, made again
regressions:
    cargo run --release -- sim --mutant all --keep golden/journals/regressions

# Mutations of the source (needs cargo-mutants)
source-mutants *args:
    cargo mutants --file 'src/runtime/**' --file 'src/law/**' {{args}} -- --lib

# Ten minutes of a fuzz target (needs cargo-fuzz and a nightly compiler)
fuzz target seconds="600":
    cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}}

bench:
    cargo bench --bench policy
    cargo bench --bench rank
    cargo bench --bench stream
    cargo bench --bench trials
    cargo bench --bench turn
    cargo bench --bench view

# Licences and sources of dependencies
deny:
    cargo deny check licenses bans sources
