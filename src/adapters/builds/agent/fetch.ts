import { spawn } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CommitValidator } from '../../../contracts/builds/commit.ts'
import { failureOfArchive, failureOfGit } from '../../../contracts/builds/failure.ts'
import { type BuildTask, CA_BUNDLE_PATH } from '../../../contracts/builds/pod.ts'
import type { BuildPaths } from './buildPaths.ts'
import { runProgram } from './commands.ts'
import { registryClientEnvironment, registryClientFlags } from './registry.ts'
import { unpackOutput } from './unpackOutput.ts'

type GitSource = Extract<BuildTask['source'], { kind: 'Git' }>

/** Restricts git to the repository itself: no hooks, no other protocols, no submodules, no prompts. */
const GIT = [
  ['core.hooksPath', '/dev/null'],
  ['protocol.allow', 'never'],
  ['protocol.https.allow', 'always'],
  ['protocol.http.allow', 'always'],
  ['protocol.ssh.allow', 'always'],
  ['protocol.file.allow', 'never'],
  ['core.fsmonitor', 'false'],
  // Larger files are streamed to disk instead of being held in memory.
  ['core.bigFileThreshold', '16m'],
  ['advice.detachedHead', 'false'],
  // The repository lives for seconds, so maintenance is pointless.
  ['maintenance.auto', 'false'],
].flatMap(([name, value]) => ['-c', `${name}=${value}`])

/** @returns the id of the commit. @throws BuildRefusal */
export async function clone(
  { url, branch, commit }: GitSource,
  { settings }: BuildTask,
  places: BuildPaths,
): Promise<string> {
  const authorities = await caEnvironment(settings, places)
  const environment = {
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_SSH_COMMAND: sshCommand(places),
    ...authorities,
  }
  const git = async (args: readonly string[], watch?: (text: string) => void) => {
    const running = { cwd: places.source, environment, ...(watch && { watch }) }
    const { code, errorOutput, output } = await runProgram(
      'git',
      [...GIT, ...credentialOptions(places), ...args],
      running,
    )
    if (code !== 0) throw failureOfGit(errorOutput)
    return output.trim()
  }
  await git(['init', '--quiet', '--template='])
  const wanted = commit ?? `refs/heads/${branch}`
  await git(['fetch', '--quiet', '--depth=1', '--no-tags', '--end-of-options', withGitUser(url), wanted])
  const judge = new CommitValidator()
  await git(['ls-tree', '-r', '-t', '-z', '--long', 'FETCH_HEAD'], (text) => judge.take(text))
  await git(['checkout', '--quiet', 'FETCH_HEAD'])
  const head = await git(['rev-parse', 'HEAD'])
  await rm(join(places.source, '.git'), { recursive: true, force: true })
  return head
}

/** The public authorities, plus the configured one. */
async function caEnvironment(
  { certificateAuthority }: BuildTask['settings'],
  { temporary }: BuildPaths,
): Promise<Record<string, string>> {
  if (certificateAuthority === undefined) return {}
  const bundle = join(temporary, 'authorities.crt')
  await writeFile(bundle, `${await readFile(CA_BUNDLE_PATH, 'utf8')}\n${certificateAuthority}`)
  return { GIT_SSL_CAINFO: bundle }
}

/**
 * Uses git's credential store, which matches by host, also after redirects. Only `get` is passed on: `store` and
 * `erase` would fail on the read-only file and print what looks like a fatal error to the log.
 */
const credentialOptions = ({ hasEntry, entryAt }: BuildPaths) =>
  hasEntry('gitCredentials') ? ['-c', `credential.helper=${getOnlyHelper(entryAt('gitCredentials'))}`] : []

const getOnlyHelper = (file: string) =>
  `!ask() { if [ "$1" = get ]; then git credential-store --file='${file}' get; fi; }; ask`

/** Adds the user `git`: by default ssh would sign in as the user of this pod. git itself reports an invalid URL. */
function withGitUser(address: string): string {
  const url = URL.parse(address)
  if (url === null || url.protocol !== 'ssh:' || url.username !== '') return address
  url.username = 'git'
  return url.href
}

function sshCommand({ entryAt }: BuildPaths): string {
  const known = ['-o', 'StrictHostKeyChecking=yes', '-o', `UserKnownHostsFile=${entryAt('knownHosts')}`]
  const key = ['-i', entryAt('privateKey'), '-o', 'IdentitiesOnly=yes', '-o', 'BatchMode=yes']
  return ['ssh', '-F', '/dev/null', ...key, ...known].join(' ')
}

type Manifest = { layers?: { digest?: string }[] }

/** Gets an uploaded archive from the registry and unpacks it. @throws BuildRefusal */
export async function fetchArchive(reference: string, { settings }: BuildTask, places: BuildPaths): Promise<void> {
  const environment = await registryClientEnvironment(places, 'pull')
  const named = `${settings.registry}/${reference}`
  const { code, errorOutput, output } = await runProgram(
    'crane',
    ['manifest', ...registryClientFlags(settings), named],
    {
      environment,
    },
  )
  const digest = code === 0 ? (JSON.parse(output) as Manifest).layers?.[0]?.digest : undefined
  if (digest === undefined) throw failureOfArchive(errorOutput)
  const args = ['blob', ...registryClientFlags(settings), `${named.slice(0, named.indexOf('@'))}@${digest}`]
  const env = { PATH: '/usr/bin:/bin', HOME: '/tmp', ...environment }
  await unpackOutput(spawn('crane', args, { env, stdio: ['ignore', 'pipe', 'inherit'] }), places.source)
}
