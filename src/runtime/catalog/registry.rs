//! The registry: one compiled entry per tool version, built once and shared by every trial.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::base::digest::{Digest, Hasher};
use crate::runtime::error::SetupError;
use crate::tool::descriptor::{Descriptor, PrivacyRisk, RedactionPolicy, SHELL};
use crate::tool::effect::EffectClass;
use crate::tool::id::ToolId;
use crate::tool::risk::{self, Level};
use crate::tool::schema::CompiledSchema;
use crate::tool::shell;

/// A verified descriptor with everything that is computed once: version, level, effect class and
/// compiled schemas.
#[derive(Debug)]
pub struct Registered {
    /// The contract.
    pub descriptor: Descriptor,
    /// Digest of its content.
    pub version: Digest,
    /// Its authority level.
    pub level: Level,
    /// The strictest thing it may do.
    pub class: EffectClass,
    /// Compiled schema of its arguments.
    pub input: CompiledSchema,
    /// Compiled schema of its structured result.
    pub output: Option<CompiledSchema>,
}

impl Registered {
    /// Compiles a descriptor.
    ///
    /// # Errors
    /// When a schema does not compile.
    pub fn new(descriptor: Descriptor) -> Result<Self, SetupError> {
        let compile = |schema| {
            CompiledSchema::compile(schema)
                .map_err(|problem| SetupError::Schema { tool: descriptor.tool_id.clone(), problem })
        };
        let input = compile(&descriptor.schemas.input_schema)?;
        let output = descriptor.schemas.output_schema.as_ref().map(compile).transpose()?;
        Ok(Self {
            version: descriptor.content_digest(),
            level: risk::level(&descriptor),
            class: risk::effect_class(&descriptor),
            input,
            output,
            descriptor,
        })
    }

    /// Files that a command would run or read, as a fixed command or the parts of a command line
    /// name them: what an approval is bound to besides the arguments.
    pub fn operands(&self, args: &Value) -> Vec<String> {
        if self.descriptor.execution.adapter == SHELL {
            let line = self.descriptor.shell_line().and_then(|name| args.get(name)?.as_str());
            let line = shell::parse(line.unwrap_or_default());
            let words = line.parts.iter().flat_map(|part| &part.words);
            let words = words.filter_map(shell::Word::literal);
            let files: BTreeSet<&str> = words.filter(|word| !word.starts_with('-')).collect();
            return files.into_iter().map(str::to_owned).collect();
        }
        let command = self.descriptor.execution.command.iter().skip(1);
        command.filter(|word| !word.starts_with('-')).cloned().collect()
    }

    /// What is taken out of its results: what its descriptor says, else personal data where it
    /// reads people's data outside (seed B section 12, L3).
    pub fn redaction(&self) -> RedactionPolicy {
        let private = self.descriptor.risk.privacy_risk != PrivacyRisk::None;
        let implied = match self.level {
            Level::L3 if private => RedactionPolicy::PersonalData,
            _ => RedactionPolicy::Secrets,
        };
        self.descriptor.context_policy.redaction_policy.unwrap_or(implied)
    }

    /// Its id.
    pub fn id(&self) -> &ToolId {
        &self.descriptor.tool_id
    }
}

/// Every registered tool by id.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    tools: BTreeMap<ToolId, Arc<Registered>>,
}

impl Registry {
    /// Registers descriptors.
    ///
    /// # Errors
    /// All descriptors that do not compile, and ids that occur twice.
    pub fn new(descriptors: Vec<Descriptor>) -> Result<Self, Vec<SetupError>> {
        let (mut tools, mut errors) = (BTreeMap::new(), Vec::new());
        for descriptor in descriptors {
            match Registered::new(descriptor) {
                Ok(tool) if tools.contains_key(tool.id()) => {
                    errors.push(SetupError::DuplicateTool { tool: tool.id().clone() });
                }
                Ok(tool) => {
                    tools.insert(tool.id().clone(), Arc::new(tool));
                }
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(Self { tools }) } else { Err(errors) }
    }

    /// One tool.
    pub fn get(&self, id: &ToolId) -> Option<&Arc<Registered>> {
        self.tools.get(id)
    }

    /// All tools in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Registered>> {
        self.tools.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Digest over all ids and versions.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::new("registry");
        for tool in self.iter() {
            hasher = hasher.field(tool.id().as_str().as_bytes()).field(tool.version.as_bytes());
        }
        hasher.finish()
    }
}
