import { randomUUID } from 'node:crypto'
import { type Dirent, linkSync, mkdirSync, opendirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs'
import {
  type ByteRange,
  type FileAnswer,
  type FileEntry,
  type FileRequest,
  joinPath,
  LISTED_ENTRIES_MAX,
  MAX_FILE_ANSWER_BYTES,
  pathSegments,
} from '../../../contracts/files.ts'
import { entryOf, type Name, type OpenEntry } from './openEntry.ts'
import { hasCode, Refused } from './refused.ts'
import type { Slot, Tree } from './tree.ts'

/** Entries that are read from one folder. Of a larger folder, only these are sorted and listed. */
const MAX_NAMES = 100_000
/** Maximum depth of folders that are held open at once. */
const MAX_DEPTH = 500
/** Bytes of an answer besides its entries. */
const ANSWER_OVERHEAD_BYTES = 100

type RequestOf<Op extends FileRequest['op']> = Omit<Extract<FileRequest, { op: Op }>, 'op'>

/** Lists a folder: folders first, then by name. */
export function list(tree: Tree, { path }: RequestOf<'list'>): FileAnswer {
  const found = tree.find(path)
  const base = joinPath(pathSegments(path) ?? [])
  const below = (name: string) => `${base === '/' ? '' : base}/${name}`
  if (found.kind === 'virtual') {
    return { entries: found.names.sort().map((name) => entryOfMount(tree, below(name))), truncated: false }
  }
  if (!found.held.stats.isDirectory()) {
    return { entries: [entryOf(found.held.stats, base)], truncated: false }
  }
  const { names, isWhole } = namesIn(found.held)
  const isFolder = new Map(names.map(({ name, isDirectory }) => [name, isDirectory]))
  const order = [...isFolder.keys()].sort((a, b) => {
    const folders = Number(isFolder.get(b)) - Number(isFolder.get(a))
    return folders !== 0 ? folders : Buffer.compare(Buffer.from(a), Buffer.from(b))
  })
  const entries: FileEntry[] = []
  let left = MAX_FILE_ANSWER_BYTES - ANSWER_OVERHEAD_BYTES
  for (const name of order) {
    const entry = ignoreMissing(() => found.held.entry(name, below(name)))
    if (entry === undefined) continue
    left -= Buffer.byteLength(JSON.stringify(entry)) + 1
    if (entries.length === LISTED_ENTRIES_MAX || left < 0) return { entries, truncated: true }
    entries.push(entry)
  }
  return { entries, truncated: !isWhole }
}

/** Describes a mount, or a virtual folder that only holds mounts. */
function entryOfMount(tree: Tree, path: string): FileEntry {
  const found = tree.find(path)
  if (found.kind === 'held') return entryOf(found.held.stats, path)
  const [name, modifiedAt] = [path.slice(path.lastIndexOf('/') + 1), new Date(0).toISOString()]
  return { name, path, type: 'Directory', sizeBytes: 0, modifiedAt, mode: '0755', linkTarget: null }
}

function namesIn(folder: OpenEntry) {
  const names: { name: string; isDirectory: boolean }[] = []
  const reader = opendirSync(folder.self)
  try {
    for (let one = reader.readSync(); one !== null; one = reader.readSync()) {
      if (names.length === MAX_NAMES) return { names, isWhole: false }
      if (one.isDirectory() || one.isFile() || one.isSymbolicLink())
        names.push({ name: one.name, isDirectory: one.isDirectory() })
    }
  } finally {
    reader.closeSync()
  }
  return { names, isWhole: true }
}

/** Returns all names in a folder, as bytes, because they need not be valid Unicode. */
export const listEntryNames = (folder: OpenEntry) => readNames(folder, () => true)
/** Returns the names of subfolders, as bytes. */
export const listFolderNames = (folder: OpenEntry) => readNames(folder, (one) => one.isDirectory())

function readNames(folder: OpenEntry, matches: (one: Dirent) => boolean): Buffer[] {
  const names: Buffer[] = []
  const reader = opendirSync(folder.self, { encoding: 'buffer' as BufferEncoding })
  try {
    for (let one = reader.readSync(); one !== null; one = reader.readSync())
      if (matches(one)) names.push(one.name as unknown as Buffer)
  } finally {
    reader.closeSync()
  }
  return names
}

/** Resolves a byte range against the size of a file. @throws Refused NotSatisfiable */
export function resolveByteRange(range: ByteRange | undefined, sizeBytes: number): { first: number; last: number } {
  const end = sizeBytes - 1
  if (range === undefined) return { first: 0, last: end }
  if ('suffix' in range) {
    if (range.suffix === 0 || sizeBytes === 0) throw new Refused('NotSatisfiable', sizeBytes)
    return { first: Math.max(0, sizeBytes - range.suffix), last: end }
  }
  if (range.first > end) throw new Refused('NotSatisfiable', sizeBytes)
  return { first: range.first, last: Math.min(range.last ?? end, end) }
}

export function makeDirectory(tree: Tree, { path, parents }: RequestOf<'makeDirectory'>): FileAnswer {
  const entry = findEntry(tree, path)
  if (entry !== undefined) {
    if (!entry.stats.isDirectory()) throw new Refused('AlreadyExists')
    return { entry: entryOf(entry.stats, joinPath(pathSegments(path) ?? [])), isNew: false }
  }
  const above = joinPath((pathSegments(path) ?? []).slice(0, -1))
  if (parents && findEntry(tree, above) === undefined) makeDirectory(tree, { path: above, parents })
  const slot = tree.slot(path)
  mkdirSync(slot.folder.at(slot.name), 0o775)
  return { entry: entryIn(slot), isNew: true }
}

/** Returns undefined if there is nothing. @throws Refused NotAllowed */
function findEntry(tree: Tree, path: string): OpenEntry | undefined {
  try {
    const one = tree.find(path)
    if (one.kind === 'virtual') throw new Refused('NotAllowed')
    return one.held
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

export function move(tree: Tree, { from, to, overwrite }: RequestOf<'move'>): FileAnswer {
  const [source, target] = [tree.slot(from), tree.slot(to)]
  const moved = source.folder.statsOf(source.name)
  const before = ignoreMissing(() => target.folder.statsOf(target.name))
  if (before !== undefined && !overwrite) throw new Refused('AlreadyExists')
  if (moved.isDirectory() || overwrite) {
    // Without overwrite, this can only replace an empty folder that was created just now.
    renameOver(source, target)
  } else renameIfAbsent(source, target)
  return { entry: entryIn(target), isNew: before === undefined }
}

/** Renames without replacing anything: creating a hard link fails if the target exists. */
export function renameIfAbsent(source: Slot, target: Slot): void {
  try {
    linkSync(source.folder.at(source.name), target.folder.at(target.name))
  } catch (error) {
    // The file system has no hard links.
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error
    renameOver(source, target)
    return
  }
  unlinkSync(source.folder.at(source.name))
}

/** @throws Refused AlreadyExists if a folder is in the way */
export function renameOver(source: Slot, target: Slot): void {
  try {
    renameSync(source.folder.at(source.name), target.folder.at(target.name))
  } catch (error) {
    if (hasCode(error, 'EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST')) throw new Refused('AlreadyExists')
    throw error
  }
}

export function remove(tree: Tree, { path, recursive }: RequestOf<'remove'>): FileAnswer {
  const { folder, name } = tree.slot(path)
  if (folder.statsOf(name).isDirectory() && recursive) withOpenFolder(folder, name, emptyAll)
  discard(folder, name)
  return { removed: true }
}

/** Empties a folder. Folders that are too deep to hold open are moved to the top and removed from there. */
function emptyAll(top: OpenEntry): void {
  while (empty(top, top, 0)) {}
}

/** Deletes the contents of a folder, without following links. Returns true if something was moved to the top. */
function empty(folder: OpenEntry, top: OpenEntry, depth: number): boolean {
  let isMoved = false
  for (const each of listEntryNames(folder)) {
    const isFolder = ignoreMissing(() => folder.statsOf(each))?.isDirectory() === true
    if (isFolder && depth === MAX_DEPTH) {
      isMoved = true
      ignoreMissing(() => renameSync(folder.at(each), top.at(randomUUID())))
      continue
    }
    if (isFolder) withOpenFolder(folder, each, (child) => (isMoved = empty(child, top, depth + 1) || isMoved))
    ignoreMissing(() => discard(folder, each))
  }
  return isMoved
}

/** Runs `work` with the folder held open; skipped if it is gone or not a folder. */
export function withOpenFolder(above: OpenEntry, name: Name, work: (folder: OpenEntry) => void): void {
  const folder = ignoreMissing(() => above.child(name, true))
  if (folder === undefined) return
  try {
    work(folder)
  } finally {
    folder.close()
  }
}

function discard(folder: OpenEntry, name: Name): void {
  if (folder.statsOf(name).isDirectory()) rmdirSync(folder.at(name))
  else unlinkSync(folder.at(name))
}

export function entryIn({ folder, name, path }: Slot): FileEntry {
  const entry = folder.entry(name, path)
  if (entry === undefined) throw new Refused('NotAllowed')
  return entry
}

/** Returns undefined if the file is gone. */
export function ignoreMissing<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined
    throw error
  }
}
