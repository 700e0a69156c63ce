# Evaluates a Homebrew formula without Homebrew. Words that Homebrew does not have are errors.
#   ruby formula.rb <formula>                                prints the archive for each system as JSON
#   ruby formula.rb <formula> <os> <cpu> <unpacked> <prefix> installs from an unpacked archive into a folder, and runs the test
require 'fileutils'
require 'json'
require 'open3'

FORMULA, OS, CPU, UNPACKED, PREFIX = ARGV

# A folder of the prefix, into which files are installed under their own or another name.
class Folder
  def initialize(path)
    @path = path
  end

  def to_s = @path

  def install(files)
    FileUtils.mkdir_p(@path)
    pairs = files.is_a?(Hash) ? files : { files => File.basename(files) }
    pairs.each { |from, name| FileUtils.cp(from, File.join(@path, name), preserve: true) }
  end
end

# The words of a formula, as far as ours uses them.
class Formula
  FOLDERS = {
    bin: 'bin', bash_completion: 'etc/bash_completion.d', zsh_completion: 'share/zsh/site-functions',
    fish_completion: 'share/fish/vendor_completions.d', man1: 'share/man/man1'
  }.freeze

  class << self
    attr_accessor :system, :newest
    attr_reader :facts, :tests

    %i[desc homepage license version url sha256].each do |word|
      define_method(word) do |*values|
        @facts ||= {}
        values.empty? ? @facts[word] : @facts[word] = values.first
      end
    end

    def inherited(formula)
      super
      formula.system = system
      Formula.newest = formula
    end

    def on_macos = (yield if system[0] == 'macos')
    def on_linux = (yield if system[0] == 'linux')
    def on_arm = (yield if system[1] == 'arm')
    def on_intel = (yield if system[1] == 'intel')
    def livecheck; end
    def test(&work) = @tests = work
  end

  FOLDERS.each { |word, folder| define_method(word) { Folder.new(File.join(PREFIX, folder)) } }
  def version = self.class.version

  def shell_output(command)
    output, status = Open3.capture2(command)
    raise "#{command} exits with #{status.exitstatus}" unless status.success?

    output
  end

  def assert_match(wanted, text)
    raise "#{text.inspect} does not have #{wanted.inspect}" unless text.include?(wanted)
  end
end

def formula_for(system)
  Formula.system = system
  load FORMULA
  Formula.newest.tap { |formula| Object.send(:remove_const, formula.name) }
end

if PREFIX.nil?
  systems = %w[macos linux].product(%w[arm intel])
  puts JSON.generate(systems.map { |os, cpu| formula_for([os, cpu]).facts.merge(os: os, cpu: cpu) })
else
  formula = formula_for([OS, CPU]).new
  Dir.chdir(UNPACKED) { formula.install }
  formula.instance_exec(&formula.class.tests)
  puts 'installed and tested'
end
