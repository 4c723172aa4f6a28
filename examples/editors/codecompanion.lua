-- Neovim with CodeCompanion: Gemini CLI behind the rules of Lapidary.
require("codecompanion").setup({
  adapters = {
    acp = {
      gemini_with_rules = function()
        return require("codecompanion.adapters").extend("gemini_cli", {
          commands = {
            default = { "lapidary", "acp", "--agent", "gemini", "--deny", "edit:.github/**" },
          },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "gemini_with_rules" } },
})
