//! The abilities of the agents of the registry, as far as they are known without starting them.

use lapidary_vocab::capabilities::{
    AgentConfinement, Capabilities, FoundBy, ProviderMetadata, RuleSupport, SCHEMA,
};

mod gemini;

pub use gemini::{capabilities as gemini_capabilities, metadata as gemini_metadata};

use crate::agents::gemini_versions;
use crate::agents::own_policy::{AskAbility, denial_layers, rule_keeping};
use crate::agents::{AcpAgent, AgentSpec};
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
        let over_acp = self.agent(environment).capabilities(environment);
        let stream = StreamAgent::named(self.name).and_then(|own| own.locate(environment));
        let Some(stream) = stream else {
            return Capabilities {
                confinement,
                ..over_acp
            };
        };
        let with_stream = Capabilities {
            confinement,
            supports_stream_json: true,
            supports_resume: true,
            ..over_acp
        };
        if with_stream.installed {
            return with_stream;
        }
        // Without its adapter, the agent has only its own stream. Rules need ACP: a run with the stream refuses them.
        let version = version_of_package(&stream);
        Capabilities {
            installed: true,
            found_by: Some(FoundBy::Path),
            cli_path: Some(stream.to_string_lossy().into_owned()),
            version: version.as_ref().map(AgentVersion::to_string),
            supports_acp: false,
            rules: RuleSupport::default(),
            ..with_stream
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
}

impl AcpAgent {
    /// Whether the agent is installed, and its abilities: also of an agent of `lapidary.toml`. A remote agent is not connected.
    pub fn capabilities(&self, environment: &SearchEnvironment) -> Capabilities {
        let url = self.endpoint.as_ref().map(|endpoint| endpoint.url.shown());
        let path = match &url {
            Some(_) => None,
            None => self.locate(environment),
        };
        let version = path.as_deref().and_then(version_of_package);
        let known = AgentSpec::named(&self.name);
        let known = known.filter(|_| url.is_none());
        Capabilities {
            schema: SCHEMA.into(),
            agent: self.name.clone(),
            installed: path.is_some() || url.is_some(),
            found_by: path.as_ref().map(|_| FoundBy::Path),
            cli_path: path.map(|path| path.to_string_lossy().into_owned()),
            version: version.as_ref().map(AgentVersion::to_string),
            tried: Vec::new(),
            supports_slash_commands: false,
            supports_models: false,
            models: Vec::new(),
            supports_web_search: false,
            supports_thinking: false,
            supports_stream_json: false,
            supports_resume: false,
            supports_plan_mode: self.modes.plan.is_some(),
            supports_acp: true,
            permission_modes: self.permission_modes(),
            rules: self.rule_support(),
            install: self.install.clone().filter(|_| url.is_none()),
            confinement: known.map(|known| known.confinement(environment)),
            metadata: self.provider_metadata(),
            url,
        }
    }

    /// How rules are kept. A remote agent of any family gets no rules.
    fn rule_support(&self) -> RuleSupport {
        let family = match self.endpoint {
            Some(_) => "",
            None => self.provider.as_str(),
        };
        RuleSupport {
            acp: Some(rule_keeping(family, None)),
            acp_denials: Some(denial_layers(family, None, AskAbility::Possible)),
            ..RuleSupport::default()
        }
    }

    fn permission_modes(&self) -> Vec<String> {
        let modes = [
            (&self.modes.default, PermissionMode::Default),
            (&self.modes.plan, PermissionMode::Plan),
        ];
        let own = modes.into_iter().filter(|(own, _)| own.is_some());
        own.map(|(_, mode)| mode.as_str().to_owned()).collect()
    }

    fn provider_metadata(&self) -> ProviderMetadata {
        ProviderMetadata {
            name: self.name.clone(),
            description: format!("{} over the Agent Client Protocol", self.name),
            requires_config: false,
            config_keys: crate::config::PROVIDER_KEYS.map(str::to_owned).to_vec(),
            default_response_timeout: DEFAULT_TIMEOUT.as_secs(),
            fs_ability: "local-write".to_owned(),
        }
    }
}
