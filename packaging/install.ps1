<#
.SYNOPSIS
Installs mcpx for the current user. It needs no administrator, and it verifies the checksum.
.EXAMPLE
powershell -ExecutionPolicy Bypass -File install.ps1
.EXAMPLE
powershell -ExecutionPolicy Bypass -File install.ps1 -File mcpx-0.1.0-win-x64.zip
.NOTES
MCPX_INSTALL_DIR: the folder to install into (default: %LOCALAPPDATA%\Programs\mcpx).
MCPX_VERSION: the version to install, such as 0.1.0 (default: the newest).
MCPX_DOWNLOAD_URL: the folder with the files of a release, https://... or file://...
#>
param(
  # A zip or an executable that is already here, for an installation offline. SHA256SUMS must be next to it.
  [string]$File,
  # Removes the executable, and its folder from the PATH of the user.
  [switch]$Uninstall
)
$ErrorActionPreference = 'Stop'
# Windows PowerShell 5.1 draws a progress bar that makes downloads many times slower.
$ProgressPreference = 'SilentlyContinue'
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

# The release replaces this line by the address of its own page.
$Releases = '@RELEASES@'
$Folder = if ($env:MCPX_INSTALL_DIR) { $env:MCPX_INSTALL_DIR } else { Join-Path $env:LOCALAPPDATA 'Programs\mcpx' }
$Target = Join-Path $Folder 'mcpx.exe'

function Stop-Install([string]$Message, [string]$Hint) {
  [Console]::Error.WriteLine("error: $Message")
  if ($Hint) { [Console]::Error.WriteLine("`nhint: $Hint") }
  exit 1
}

function Get-Target {
  if ([Environment]::OSVersion.Version.Major -lt 10) { Stop-Install 'mcpx needs Windows 10 or later' '' }
  # A 32-bit PowerShell on 64-bit Windows has the real processor in the second variable.
  $Processor = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
  switch ($Processor) {
    'AMD64' { return 'win-x64' }
    'ARM64' { return 'win-arm64' }
    default { Stop-Install "there is no mcpx for the processor $Processor" 'with Node 20 or later: node mcpx.cjs' }
  }
}

function Get-Remote([string]$Url, [string]$Path) {
  try {
    if ($Url.StartsWith('file://')) { Copy-Item -LiteralPath ([Uri]$Url).LocalPath -Destination $Path }
    else { Invoke-WebRequest -UseBasicParsing -Uri $Url -OutFile $Path }
  } catch { Stop-Install "cannot download `"$Url`": $($_.Exception.Message)" '' }
}

function Test-Sum([string]$Path, [string]$Name, [string]$Sums) {
  $Lines = Get-Content -LiteralPath $Sums | ForEach-Object { , ($_ -split '\s+\*?', 2) } | Where-Object { $_[1] -eq $Name }
  if (-not $Lines) { Stop-Install "SHA256SUMS has no checksum of `"$Name`"" 'take the file and SHA256SUMS from the same release' }
  $Expected = @($Lines)[0]
  if ($Expected -is [array]) { $Expected = $Expected[0] }
  $Found = (Get-FileHash -Algorithm SHA256 -LiteralPath $Path).Hash.ToLowerInvariant()
  if ($Found -ne $Expected.ToLowerInvariant()) {
    Stop-Install "the checksum of `"$Name`" is wrong: expected $Expected, found $Found" 'download it again; nothing was installed'
  }
}

# The registry, because [Environment] would replace each %VARIABLE% of the other entries by its value.
$Registry = 'registry::HKEY_CURRENT_USER\Environment'
function Get-UserPath {
  return @(((Get-Item -LiteralPath $Registry).GetValue('Path', '', 'DoNotExpandEnvironmentNames') -split ';') | Where-Object { $_ })
}
function Set-UserPath([string[]]$Parts) {
  Set-ItemProperty -LiteralPath $Registry -Name 'Path' -Value ($Parts -join ';') -Type ExpandString
  # Setting a variable through [Environment] tells open programs that the environment has changed.
  $Signal = 'MCPX_INSTALL_' + [Guid]::NewGuid().ToString('N')
  [Environment]::SetEnvironmentVariable($Signal, '1', 'User')
  [Environment]::SetEnvironmentVariable($Signal, [NullString]::Value, 'User')
}

if ($Uninstall) {
  if (-not (Test-Path -LiteralPath $Target)) { Stop-Install "there is no `"$Target`"" 'set MCPX_INSTALL_DIR to its folder' }
  Remove-Item -LiteralPath $Target
  if (-not (Get-ChildItem -LiteralPath $Folder)) { Remove-Item -LiteralPath $Folder }
  Set-UserPath (Get-UserPath | Where-Object { $_ -ne $Folder })
  Write-Host "mcpx: removed $Target"
  Write-Host "mcpx: config, logs and stored lists are still in $HOME\.mcpx"
  exit 0
}

$System = Get-Target
$Work = Join-Path ([IO.Path]::GetTempPath()) ('mcpx-' + [Guid]::NewGuid())
New-Item -ItemType Directory -Path $Work | Out-Null
try {
  if ($File) {
    if (-not (Test-Path -LiteralPath $File)) { Stop-Install "there is no file `"$File`"" '' }
    $Path = (Resolve-Path -LiteralPath $File).Path
    $Name = Split-Path -Leaf $Path
    $Sums = Join-Path (Split-Path -Parent $Path) 'SHA256SUMS'
    if (-not (Test-Path -LiteralPath $Sums)) { Stop-Install "there is no `"$Sums`" to verify the file with" 'copy SHA256SUMS of the release next to the file' }
  } else {
    if ($env:MCPX_DOWNLOAD_URL) { $Url = $env:MCPX_DOWNLOAD_URL.TrimEnd('/') }
    elseif (-not $Releases.StartsWith('http')) { Stop-Install 'this copy of install.ps1 belongs to no release' 'set MCPX_DOWNLOAD_URL to the folder with the files' }
    elseif ($env:MCPX_VERSION) { $Url = "$Releases/download/v$($env:MCPX_VERSION -replace '^v', '')" }
    else { $Url = "$Releases/latest/download" }
    $Sums = Join-Path $Work 'SHA256SUMS'
    Get-Remote "$Url/SHA256SUMS" $Sums
    $Name = Get-Content -LiteralPath $Sums | ForEach-Object { ($_ -split '\s+\*?', 2)[1] } | Where-Object { $_ -like "mcpx-*-$System.zip" } | Select-Object -First 1
    if (-not $Name) { Stop-Install "the release has no archive for $System" '' }
    if ($env:MCPX_VERSION -and $Name -ne "mcpx-$($env:MCPX_VERSION -replace '^v', '')-$System.zip") {
      Stop-Install "MCPX_VERSION is $($env:MCPX_VERSION), and `"$Url`" has `"$Name`"" ''
    }
    $Path = Join-Path $Work $Name
    Write-Host "mcpx: downloading $Url/$Name"
    Get-Remote "$Url/$Name" $Path
  }
  Test-Sum $Path $Name $Sums
  if ($Name -like '*.zip') {
    Expand-Archive -LiteralPath $Path -DestinationPath $Work
    $Executable = Join-Path (Join-Path $Work ($Name -replace '\.zip$', '')) 'mcpx.exe'
  } else { $Executable = $Path }
  $Version = & $Executable --version
  if ($LASTEXITCODE -ne 0) { Stop-Install 'the executable does not run here' '' }
  New-Item -ItemType Directory -Force -Path $Folder | Out-Null
  # Windows does not replace a running executable, but it can be renamed. Renames come last: a full disk leaves the old one in place.
  Copy-Item -LiteralPath $Executable -Destination "$Target.new"
  if (Test-Path -LiteralPath $Target) {
    Remove-Item -LiteralPath "$Target.old" -ErrorAction SilentlyContinue
    Rename-Item -LiteralPath $Target -NewName 'mcpx.exe.old'
  }
  Rename-Item -LiteralPath "$Target.new" -NewName 'mcpx.exe'
  Remove-Item -LiteralPath "$Target.old" -ErrorAction SilentlyContinue
} finally {
  Remove-Item -Recurse -Force -LiteralPath $Work -ErrorAction SilentlyContinue
}
if ((Get-UserPath) -notcontains $Folder) {
  Set-UserPath (@(Get-UserPath) + $Folder)
  Write-Host "mcpx: added $Folder to your PATH; open a new terminal"
}
Write-Host "mcpx: installed $Version as $Target"
Write-Host 'mcpx: try it: mcpx demo'
Write-Host 'mcpx: undo: powershell -ExecutionPolicy Bypass -File install.ps1 -Uninstall'
