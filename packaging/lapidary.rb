# The Homebrew formula. `cargo xtask dist --base-url URL` fills it in.
class Lapidary < Formula
  desc "Runs coding agents and keeps what they did"
  homepage "@BASE_URL@"
  url "@URL@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  def install
    bin.install "lapidary"
    bash_completion.install "completions/lapidary.bash" => "lapidary"
    fish_completion.install "completions/lapidary.fish"
    zsh_completion.install "completions/_lapidary"
    man1.install Dir["man/man1/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/lapidary --version")
    assert_match "completed", shell_output("#{bin}/lapidary run --agent demo --format result hello")
  end
end
