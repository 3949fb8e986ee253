import type { SlicedWork } from '../../core/slices.ts'
import { compareTexts } from '../../core/textOrder.ts'
import type { GitObject, GitObjectType } from './pack.ts'
import { GIT_LIMITS, type GitFile, GitFilesError } from './port.ts'

type Objects = ReadonlyMap<string, GitObject>
type Entry = { readonly mode: string; readonly name: string; readonly id: string }

const TEXT_FILE = /\.(ya?ml|json)$/i
const FOLDER_MODE = '40000'
/** Modes of regular files. Left out: links (120000), which may lead out of the repository, and submodules (160000). */
const FILE_MODES = new Set(['100644', '100755', '100664'])

/** A file as listed by a tree, without its content. */
export type ListedGitFile = { readonly path: string; readonly id: string }

/**
 * Returns the YAML and JSON files in and below a folder of a commit, sorted by path.
 *
 * @throws GitFilesError NotFound, TooLarge; RangeError for malformed objects
 */
export function* readFilesOfCommit(objects: Objects, commit: string, folder: string): SlicedWork<GitFile[]> {
  return readFileTexts(yield* listFilesOfCommit(objects, commit, folder), objects)
}

/** Adds the text to each file; undefined if the host left it out as too large. @throws GitFilesError TooLarge */
export function readFileTexts(listed: readonly ListedGitFile[], objects: Objects): GitFile[] {
  let remaining: number = GIT_LIMITS.texts
  return listed.map(({ path, id }) => {
    const text = textOf(objects.get(id))
    remaining -= text?.length ?? 0
    if (remaining < 0) throw tooLarge(`more than ${GIT_LIMITS.texts} bytes of YAML and JSON`)
    return { path, text }
  })
}

/**
 * Lists the same files from the trees alone.
 *
 * @throws GitFilesError NotFound, TooLarge; RangeError for malformed objects
 */
export function* listFilesOfCommit(objects: Objects, commit: string, folder: string): SlicedWork<ListedGitFile[]> {
  const [, tree] = /^tree ([0-9a-f]{40})$/m.exec(read(objects, commit, 'commit').toString('latin1')) ?? []
  if (tree === undefined) throw new RangeError('A commit names no tree.')
  let root = tree
  for (const name of folder.split('/').filter((part) => part !== '')) {
    const found = yield* findFolder(read(objects, root, 'tree'), name)
    if (found === undefined) throw new GitFilesError('NotFound', `The repository has no folder "${folder}".`)
    root = found.id
  }
  const found: FoundFiles = { files: [], entries: 0 }
  yield* collectFiles(objects, root, found)
  return found.files.sort((one, other) => compareTexts(one.path, other.path))
}

function* findFolder(tree: Buffer, folder: string): SlicedWork<Entry | undefined> {
  for (const entry of entriesOf(tree)) {
    if (entry.name === folder && entry.mode === FOLDER_MODE) return entry
    yield
  }
  return undefined
}

type FoundFiles = { readonly files: ListedGitFile[]; entries: number }

/** Walks a tree within limits: trees may share subtrees, so a pack of a kilobyte can expand without end. */
function* collectFiles(objects: Objects, tree: string, found: FoundFiles, prefix = '', depth = 0): SlicedWork<void> {
  for (const { mode, name, id } of entriesOf(read(objects, tree, 'tree'))) {
    yield
    found.entries += 1
    if (found.entries > GIT_LIMITS.entries) throw tooLarge(`more than ${GIT_LIMITS.entries} files and folders`)
    const path = `${prefix}${name}`
    if (mode === FOLDER_MODE && depth < GIT_LIMITS.depth) yield* collectFiles(objects, id, found, `${path}/`, depth + 1)
    if (!FILE_MODES.has(mode) || !TEXT_FILE.test(name)) continue
    if (found.files.push({ path, id }) > GIT_LIMITS.files)
      throw tooLarge(`more than ${GIT_LIMITS.files} files of YAML and JSON`)
  }
}

const tooLarge = (what: string) => new GitFilesError('TooLarge', `The folder has ${what}.`)

function textOf(object: GitObject | undefined): string | undefined {
  if (object === undefined || object.bytes.length > GIT_LIMITS.file) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(object.bytes)
  } catch {
    return undefined
  }
}

function read(objects: Objects, id: string, type: GitObjectType): Buffer {
  const object = objects.get(id)
  if (object?.type !== type) throw new RangeError(`The pack has no such ${type}.`)
  return object.bytes
}

/** Parses lazily: a tree of megabytes is only read up to the limit. */
function* entriesOf(tree: Buffer): Generator<Entry, void, undefined> {
  for (let at = 0; at < tree.length; ) {
    const space = tree.indexOf(0x20, at)
    const end = tree.indexOf(0, space)
    if (space < 0 || end < 0 || end + 21 > tree.length) throw new RangeError('A tree ends within an entry.')
    const mode = tree.toString('latin1', at, space)
    yield { mode, name: tree.toString('utf8', space + 1, end), id: tree.toString('hex', end + 1, end + 21) }
    at = end + 21
  }
}
