//! The command line: each command parses, makes a plan, and calls one function below it.

pub mod accept;
pub mod chat;
pub mod check;
pub mod error;
pub mod exit;
pub mod explain;
pub mod home;
pub mod init;
mod kept;
pub mod laws;
pub mod lint;
mod offered;
pub mod output;
pub mod receipt;
mod recorded;
pub mod registry;
pub mod replicate;
pub mod run;
pub mod schema;
pub mod show;
pub mod sim;
pub mod sources;
pub mod suites;
pub mod tools;

use clap::{Parser, Subcommand, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use error::CliError;
use exit::Exit;
use output::Output;

/// Evaluation and regression testing for agent tools.
#[derive(Debug, Parser)]
#[command(name = "proofmark", version, about, max_term_width = 100)]
#[command(after_help = exit::HELP)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run suites, write reports, judge gates
    Run(run::RunArgs),
    /// Show one case: the view the model saw, the ranking, what was expected
    Show(show::ShowArgs),
    /// List the tools of a suite with level, decision and prompts
    Tools(tools::ToolsArgs),
    /// Scaffold a suite from real tools
    Init(init::InitArgs),
    /// Bless the results of a run as the new baseline
    Accept(accept::AcceptArgs),
    /// Register tools, review and enable them, give and take back grants
    Registry(registry::RegistryArgs),
    /// Talk to an agent with a suite's tools, and be asked for approvals
    Chat(chat::ChatArgs),
    /// Make an agent's home, see what is in it, and remove what is kept no longer
    Home(home::HomeArgs),
    /// Judge tool descriptors: of suites, of files, of an MCP server
    Lint(lint::LintArgs),
    /// What a journal says of one call: why, by whom, on whose word, with what effect
    Explain(explain::ExplainArgs),
    /// Judge a journal by the laws
    Check(check::CheckArgs),
    /// Verify receipts under the keys of a store
    Receipt(receipt::ReceiptArgs),
    /// The table of laws
    Laws(laws::LawsArgs),
    /// Faults that the laws must catch
    Mutants(laws::MutantsArgs),
    /// Simulate sessions by the thousand and look for violations
    Sim(sim::SimArgs),
    /// Score other people's recorded outputs under their own rules, against published verdicts
    Replicate(replicate::ReplicateArgs),
    /// Print the JSON Schema of a file format
    Schema(schema::SchemaArgs),
}

impl Command {
    /// How the answer is wanted; a schema is JSON whatever is asked for.
    fn format(&self) -> Format {
        match self {
            Self::Run(args) => args.format,
            Self::Show(args) => args.format,
            Self::Tools(args) => args.format,
            Self::Init(args) => args.format,
            Self::Accept(args) => args.format,
            Self::Registry(args) => args.format,
            Self::Home(args) => args.format,
            Self::Explain(args) => args.format,
            Self::Check(args) => args.format,
            Self::Laws(args) => args.format,
            Self::Mutants(args) => args.format,
            Self::Sim(args) => args.format,
            Self::Replicate(args) => args.format,
            Self::Chat(_) => Format::Human,
            Self::Lint(args) => args.format(),
            Self::Receipt(args) => args.format(),
            Self::Schema(_) => Format::Json,
        }
    }
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[value(alias = "text")]
    Human,
    /// For programs.
    Json,
}

/// Parses the arguments, runs the command, and says how it ended.
pub fn main() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers; everything else is a mistake in usage.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Pass };
            let _printed = error.print();
            return exit;
        }
    };
    let mut output = Output::new();
    let json = cli.command.format() == Format::Json;
    let result = match cli.command {
        Command::Run(args) => run::run(&args, &mut output),
        Command::Show(args) => show::show(&args, &mut output),
        Command::Tools(args) => tools::tools(&args, &mut output),
        Command::Init(args) => init::init(&args, &mut output),
        Command::Accept(args) => accept::accept(&args, &mut output),
        Command::Registry(args) => registry::registry(&args, &mut output),
        Command::Chat(args) => chat::chat(&args, &mut output),
        Command::Home(args) => home::home(&args, &mut output),
        Command::Lint(args) => lint::lint(&args, &mut output),
        Command::Explain(args) => explain::explain(&args, &mut output),
        Command::Check(args) => check::check(&args, &mut output),
        Command::Receipt(args) => receipt::receipt(&args, &mut output),
        Command::Laws(args) => laws::laws(&args, &mut output),
        Command::Mutants(args) => laws::mutants(&args, &mut output),
        Command::Sim(args) => sim::sim(&args, &mut output),
        Command::Replicate(args) => replicate::replicate(&args, &mut output),
        Command::Schema(args) => schema::schema(&args, &mut output),
    };
    match result {
        Ok(exit) => exit,
        Err(error) => {
            output.error(&error.to_string());
            if json {
                output.json(&error.to_json());
            }
            error.exit()
        }
    }
}

/// Waits for `work`, or for an interruption (from the keyboard, or a request to terminate). What
/// `work` has started (a server's process group among it) ends with it.
///
/// # Errors
/// When it was interrupted.
pub fn interruptible<T>(
    runtime: &tokio::runtime::Runtime,
    work: impl Future<Output = T>,
) -> Result<T, CliError> {
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())
            .map_err(|error| CliError::Environment(format!("no signals: {error}")))?;
        tokio::select! {
            biased;
            result = work => Ok(result),
            Ok(()) = tokio::signal::ctrl_c() => Err(CliError::Interrupted),
            _ = terminate.recv() => Err(CliError::Interrupted),
        }
    })
}

/// A single-threaded runtime: trials run one after another, and offline providers never wait.
///
/// # Errors
/// When the system gives no runtime.
pub fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| CliError::Environment(format!("no async runtime: {error}")))
}
