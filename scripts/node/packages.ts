import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { takeBuildLock } from '../controlplane/build.ts'
import { cachedAt } from '../controlplane/cache.ts'
import { exists } from '../controlplane/files.ts'
import type { ToolSearch } from '../controlplane/tool.ts'

const run = promisify(execFile)
const UPDATE_TIMEOUT_MS = 120_000
const DOWNLOAD_TIMEOUT_MS = 600_000

export type PackageRequest = {
  /** Names the folder in the cache. */
  readonly name: string
  readonly packages: readonly string[]
  /** `all`: with everything they depend on, for the root of an image. `missing`: only what this machine lacks. */
  readonly dependencies: 'all' | 'missing'
}

/**
 * Debian packages, unpacked into a folder of the cache that stands for the root of a file system. Their scripts do not
 * run, and nothing of this machine changes: apt works on lists and folders of its own.
 *
 * @throws Error if apt cannot get them
 */
export async function unpackedPackages(request: PackageRequest, search: ToolSearch): Promise<string> {
  const { name, packages, dependencies } = request
  const key = createHash('sha256')
    .update(`${dependencies} ${packages.join(' ')}`)
    .digest('hex')
    .slice(0, 12)
  const folder = cachedAt(`debian-${name}-${key}`, search.environment)
  if (await exists(folder)) return folder
  await mkdir(cachedAt('', search.environment), { recursive: true })
  const release = await takeBuildLock(`${folder}.building`, search.progress, search.signal)
  try {
    if (await exists(folder)) return folder
    await search.progress.step(`Debian packages for ${name} (only the first time)`, () =>
      unpack(request, folder, search),
    )
    return folder
  } finally {
    await release()
  }
}

async function unpack({ packages, dependencies }: PackageRequest, folder: string, search: ToolSearch): Promise<void> {
  const temporary = await mkdtemp(`${folder}-`)
  try {
    const archives = join(temporary, 'archives')
    await mkdir(join(archives, 'partial'), { recursive: true })
    await writeFile(join(temporary, 'status'), '')
    const settings = {
      'Dir::Cache::Archives': `${archives}/`,
      'APT::Sandbox::User': 'root',
      'Debug::NoLocking': '1',
      // An empty status: no package counts as installed, so all dependencies are included.
      ...(dependencies === 'all' ? { 'Dir::State::Status': join(temporary, 'status') } : {}),
    }
    const download = (lists: string) => {
      const options = optionsOf({ ...settings, 'Dir::State::Lists': lists })
      const words = ['-q', '-y', '-d', '--no-install-recommends', ...options, 'install', ...packages]
      return apt(words, DOWNLOAD_TIMEOUT_MS, search.signal)
    }
    // Old lists name versions that are no longer available.
    await download(await packageLists(search)).catch(async () => download(await packageLists(search, 'anew')))
    const root = join(temporary, 'root')
    await layOut(root)
    const files = (await readdir(archives)).filter((file) => file.endsWith('.deb')).sort()
    // Through tar, which follows /bin to /usr/bin; dpkg-deb would replace the link.
    for (const file of files) {
      await run('sh', [
        '-c',
        'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"',
        'sh',
        join(archives, file),
        root,
      ])
    }
    for (const path of ['doc', 'man', 'locale', 'info', 'lintian', 'javascript']) {
      await rm(join(root, 'usr/share', path), { recursive: true, force: true })
    }
    await rename(root, folder)
  } catch (error) {
    throw new Error(`Debian packages (${packages.join(', ')}) could not be had: ${aptErrorOf(error)}`, { cause: error })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** The merged layout of Debian: /bin is /usr/bin. */
async function layOut(root: string): Promise<void> {
  const folders = ['bin', 'sbin', 'lib', 'lib64']
  for (const name of folders) await mkdir(join(root, 'usr', name), { recursive: true })
  const links = folders.map((name) => `ln -s usr/${name} "$1/${name}"`).join(' && ')
  await run('sh', ['-c', `${links} && mkdir -p "$1/etc" && mkdir -m 1777 "$1/tmp"`, 'sh', root])
}

/** Package lists, kept in the cache: this machine may have none, or old ones. */
async function packageLists(search: ToolSearch, when: 'once' | 'anew' = 'once'): Promise<string> {
  const lists = cachedAt('debian-lists', search.environment)
  const release = await takeBuildLock(`${lists}.building`, search.progress, search.signal)
  try {
    if (when === 'once' && (await exists(join(lists, 'complete')))) return lists
    await mkdir(join(lists, 'partial'), { recursive: true })
    const settings = { 'Dir::State::Lists': lists, 'APT::Sandbox::User': 'root', 'Debug::NoLocking': '1' }
    await apt(['-q', ...optionsOf(settings), 'update'], UPDATE_TIMEOUT_MS, search.signal)
    await writeFile(join(lists, 'complete'), '')
    return lists
  } finally {
    await release()
  }
}

function optionsOf(settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
}

async function apt(words: readonly string[], timeout: number, signal: AbortSignal | undefined): Promise<void> {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
  await run('apt-get', words, { timeout, env: environment, ...(signal === undefined ? {} : { signal }) })
}

function aptErrorOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string }
  return (stderr || message).trim().split('\n').slice(-3).join(' ')
}
