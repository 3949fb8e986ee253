import { execFile } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { messageOf } from '../core/errors.ts'
import { CommandFailure, localFailure } from './failure.ts'
import type { Environment } from './files.ts'
import { printable } from './output.ts'

/** Rebuilt by the build, or useless to it. */
const EXCLUDED_NAMES = new Set(['.git', 'node_modules'])
const LIST_MAX_BYTES = 64 * 1024 ** 2

/**
 * Lists the files that Git would commit, with nested repositories and without ignored files. Without Git, lists all
 * files but EXCLUDED_NAMES.
 *
 * @returns paths below the folder
 * @throws CommandFailure (local) if Git cannot read a repository, whose ignored files may be secret; if Git ignores the
 *   whole folder; if a submodule is missing
 */
export async function listUploadFiles(folder: string, environment: Environment): Promise<string[]> {
  const listed = await listedByGit(folder, environment)
  if (listed === undefined) return walk(folder, '', environment)
  if (listed.length === 0 && (await isIgnored(folder, environment)))
    throw localFailure(
      `Git ignores the folder ${folder}, so nothing of it is sent. Name another one, or take it out of .gitignore.`,
    )
  const sent: string[] = []
  for (const path of listed) {
    if (path.split('/').some((name) => EXCLUDED_NAMES.has(name))) continue
    // Git still lists files that were deleted but not committed.
    const found = lstatSync(join(folder, path), { throwIfNoEntry: false })
    if (found?.isDirectory()) sent.push(...(await filesOfRepository(folder, path, environment)))
    else if (found !== undefined) sent.push(path)
  }
  return sent
}

/** Git lists a nested repository only as a folder. */
async function filesOfRepository(folder: string, path: string, environment: Environment): Promise<string[]> {
  const inner = join(folder, path)
  if (!existsSync(join(inner, '.git')))
    throw localFailure(`The submodule ${inner} is not there: run \`git submodule update --init\` first.`)
  return (await listUploadFiles(inner, environment)).map((below) => join(path, below))
}

/** Variables that Git sets for hooks: they name the repository of the hook, whatever folder is asked about. */
const REPOSITORY_VARIABLE =
  /^GIT_(DIR|WORK_TREE|IMPLICIT_WORK_TREE|COMMON_DIR|INDEX_FILE|PREFIX|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|SHALLOW_FILE|GRAFT_FILE|CONFIG|CONFIG_PARAMETERS|CONFIG_COUNT)$/

/** Runs git in the folder. The repository is not trusted: it must not make git run a program. */
function git(folder: string, words: readonly string[], environment: Environment): Promise<{ stdout: string }> {
  // In a partial clone, git would fetch missing objects with programs that the repository configures.
  const overrides = { LC_ALL: 'C', GIT_ALLOW_PROTOCOL: 'none' }
  const cleaned = Object.entries({ ...environment, ...overrides }).filter(([name]) => !REPOSITORY_VARIABLE.test(name))
  const options = { maxBuffer: LIST_MAX_BYTES, env: Object.fromEntries(cleaned) }
  return promisify(execFile)('git', ['-C', folder, '-c', 'core.fsmonitor=false', ...words], options)
}

function isIgnored(folder: string, env: Environment): Promise<boolean> {
  return git(folder, ['check-ignore', '--quiet', '.'], env).then(
    () => true,
    () => false,
  )
}

/** Deduplicated: git lists a conflicted file once per version. @returns undefined without Git or a repository */
async function listedByGit(folder: string, environment: Environment): Promise<string[] | undefined> {
  const words = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  try {
    const { stdout } = await git(folder, words, environment)
    return [...new Set(stdout.split('\0'))].filter((path) => path !== '')
  } catch (error) {
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string }
    if (code === 'ENOENT' || stderr.includes('not a git repository')) return undefined
    const message = printable(stderr.trim().replaceAll(/\s+/g, ' ')) || messageOf(error)
    throw localFailure(`Git does not say which files of ${folder} are to be sent. It says: ${message}`)
  }
}

async function walk(folder: string, below: string, environment: Environment): Promise<string[]> {
  const found: string[] = []
  for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
    const path = join(below, entry.name)
    if (EXCLUDED_NAMES.has(entry.name)) continue
    if (entry.isFile() || entry.isSymbolicLink()) found.push(path)
    if (!entry.isDirectory()) continue
    const isRepository = existsSync(join(folder, path, '.git'))
    found.push(...(await (isRepository ? filesOfRepository : walk)(folder, path, environment)))
  }
  return found
}

/** A file in the body of a function upload. */
export type UploadFile = { path: string; content: string; encoding: 'Base64' }

/** Reads the files one by one. @throws CommandFailure (local), also for links, which such an upload cannot have */
export async function readUploadFiles(folder: string, environment: Environment): Promise<UploadFile[]> {
  const paths = (await listUploadFiles(folder, environment)).sort()
  const link = paths.find((path) => lstatSync(join(folder, path)).isSymbolicLink())
  if (link !== undefined) throw localFailure(`${join(folder, link)} is a link: a function takes files only.`)
  return paths.map((path) => ({ path, content: readFileSync(join(folder, path), 'base64'), encoding: 'Base64' }))
}

/** Packs the folder as a reproducible tar.gz. @throws CommandFailure (local) */
export async function packFolder(
  folder: string,
  environment: Environment,
): Promise<{ bytes: Uint8Array; files: number }> {
  try {
    const paths = (await listUploadFiles(folder, environment)).sort()
    const { pack } = await import('tar-stream')
    const tar = pack()
    const archive = buffer(tar)
    for (const path of paths) {
      const stats = lstatSync(join(folder, path))
      const header = { name: path, mtime: new Date(0) }
      if (stats.isSymbolicLink()) tar.entry({ ...header, type: 'symlink', linkname: readlinkSync(join(folder, path)) })
      else tar.entry({ ...header, mode: stats.mode & 0o111 ? 0o755 : 0o644 }, readFileSync(join(folder, path)))
    }
    tar.finalize()
    return { bytes: gzipSync(await archive), files: paths.length }
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw localFailure(`The folder ${folder} cannot be packed.`, error)
  }
}
