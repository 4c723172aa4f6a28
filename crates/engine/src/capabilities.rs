//! The abilities of the agents of the registry, as far as they are known without starting them.

use lapidary_vocab::capabilities::{
    AgentConfinement, Capabilities, FoundBy, ProviderMetadata, RuleSupport, SCHEMA,
};

mod gemini;

pub use gemini::{capabilities as gemini_capabilities, metadata as gemini_metadata};

use crate::agents::AgentSpec;
use crate::agents::gemini_versions;
use crate::agents::own_policy::{AskAbility, denial_layers, rule_keeping};
use crate::config::{DEFAULT_TIMEOUT, PermissionMode};
use crate::confine::ConfineMode;
use crate::detect::AgentVersion;
use crate::detect::{self, SearchEnvironment, version_of_package};
use crate::own_stream::StreamAgent;
use crate::process::LandlockAbi;

impl AgentSpec {
    /// Whether it is installed, and its abilities. An ability that only the agent itself could report counts as absent.
    pub fn capabilities(&self, environment: &SearchEnvironment) -> Capabilities {
        let confinement = Some(self.confinement(environment));
        if self.name == gemini_versions::NAME {
            return Capabilities {
                confinement,
                ..gemini::capabilities(&detect::gemini(environment))
            };
        }
        let own = StreamAgent::named(self.name);
        let adapter = self.agent(environment).locate(environment);
        let stream = own.and_then(|own| own.locate(environment));
        let has_stream = stream.is_some();
        let is_stream_only = has_stream && adapter.is_none();
        let path = adapter.or(stream);
        let version = path.as_deref().and_then(version_of_package);
        Capabilities {
            schema: SCHEMA.into(),
            agent: self.name.to_owned(),
            installed: path.is_some(),
            found_by: path.as_ref().map(|_| FoundBy::Path),
            cli_path: path.map(|path| path.to_string_lossy().into_owned()),
            version: version.as_ref().map(AgentVersion::to_string),
            tried: Vec::new(),
            supports_slash_commands: false,
            supports_models: false,
            models: Vec::new(),
            supports_web_search: false,
            supports_thinking: false,
            supports_stream_json: has_stream,
            supports_resume: has_stream,
            supports_plan_mode: self.plan_mode.is_some(),
            supports_acp: !is_stream_only,
            permission_modes: self.permission_modes(),
            // Rules need ACP: a run with the agent's own stream refuses them.
            rules: if is_stream_only {
                RuleSupport::default()
            } else {
                self.rule_support()
            },
            install: Some(self.install.to_owned()),
            confinement,
            metadata: self.provider_metadata(),
        }
    }

    fn rule_support(&self) -> RuleSupport {
        RuleSupport {
            acp: Some(rule_keeping(self.name, None)),
            acp_denials: Some(denial_layers(self.name, None, AskAbility::Possible)),
            ..RuleSupport::default()
        }
    }

    /// Its confinement on this machine.
    pub fn confinement(&self, environment: &SearchEnvironment) -> AgentConfinement {
        let state = self.state.iter();
        let state = state.filter_map(|place| place.in_environment(environment));
        AgentConfinement {
            default: self.usual_confine_mode().as_str().to_owned(),
            landlock_abi: LandlockAbi::of_kernel().version(),
            state: state
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
        }
    }

    /// The confinement of an unattended run, unless configured otherwise.
    pub fn usual_confine_mode(&self) -> ConfineMode {
        if self.is_confined {
            ConfineMode::Workspace
        } else {
            ConfineMode::Off
        }
    }

    fn permission_modes(&self) -> Vec<String> {
        let modes = [
            (self.default_mode, PermissionMode::Default),
            (self.plan_mode, PermissionMode::Plan),
        ];
        let own = modes.into_iter().filter(|(own, _)| own.is_some());
        own.map(|(_, mode)| mode.as_str().to_owned()).collect()
    }

    fn provider_metadata(&self) -> ProviderMetadata {
        ProviderMetadata {
            name: self.name.to_owned(),
            description: format!("{} over the Agent Client Protocol", self.name),
            requires_config: false,
            config_keys: crate::config::PROVIDER_KEYS.map(str::to_owned).to_vec(),
            default_response_timeout: DEFAULT_TIMEOUT.as_secs(),
            fs_ability: "local-write".to_owned(),
        }
    }
}
