import { randomUUID } from 'node:crypto'
import { constants, unlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { type FileAnswer, type FileRequest, isFileName, joinPath, pathSegments } from '../../../contracts/files.ts'
import { entryIn, ignoreMissing, renameIfAbsent, renameOver } from './operations.ts'
import { Refused } from './refused.ts'
import type { Slot, Tree } from './tree.ts'

/**
 * Writes to a temporary file and renames it, so that the file is either complete or absent. A hard link to a replaced
 * file keeps the previous content.
 */
export async function upload(
  tree: Tree,
  { path, name, overwrite }: Omit<Extract<FileRequest, { op: 'upload' }>, 'op'>,
  bytes: AsyncIterable<Buffer>,
): Promise<FileAnswer> {
  if (!isFileName(name)) throw new Refused('NotAllowed')
  const segments = [...(pathSegments(path) ?? []), name]
  tree.folder(path)
  const target = tree.slot(joinPath(segments))
  const before = ignoreMissing(() => target.folder.statsOf(name))
  if (before !== undefined && (!overwrite || before.isDirectory())) throw new Refused('AlreadyExists')
  const partial: Slot = { ...target, name: `.upload-${randomUUID()}` }
  let isMoved = false
  try {
    await write(partial, before?.isFile() === true ? before.mode & 0o777 : undefined, bytes)
    if (overwrite) renameOver(partial, target)
    else renameIfAbsent(partial, target)
    isMoved = true
  } finally {
    if (!isMoved) ignoreMissing(() => unlinkSync(partial.folder.at(partial.name)))
  }
  return { entry: entryIn(target), isNew: before === undefined }
}

async function write({ folder, name }: Slot, mode: number | undefined, bytes: AsyncIterable<Buffer>): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const file = await open(folder.at(name), flags, 0o664)
  try {
    if (mode !== undefined) await file.chmod(mode)
    for await (const part of bytes) for (let at = 0; at < part.length; ) at += (await file.write(part, at)).bytesWritten
  } finally {
    await file.close()
  }
}
