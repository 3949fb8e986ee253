import { quotedPath } from './builds/messageText.ts'
import { foldFileName, namesObstacle } from './fileNames.ts'

/** A file of a function's source. */

export type SourceFile = { path: string; content: Buffer }

export const MAX_SOURCE_BYTES = 20 * 1024 * 1024
const MAX_PATH_CHARACTERS = 255

/** Returns why a path is refused; undefined if it is allowed. */
export function pathObstacle(path: string): string | undefined {
  if (path.length > MAX_PATH_CHARACTERS) return `has more than ${MAX_PATH_CHARACTERS} characters`
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'is not relative'
  const parts = path.split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'contains an empty part, "." or ".."'
  return namesObstacle(parts)
}

/** Returns the first path that is invalid, alone or beside others: file systems differ in which names are the same. */
export function sourceObstacle(paths: readonly string[]): { at: number; message: string } | undefined {
  const files = new Map<string, string>()
  const folders = new Map<string, string>()
  for (const [at, path] of paths.entries()) {
    const why = pathObstacle(path)
    if (why !== undefined) return { at, message: `The path ${quotedPath(path)} ${why}` }
    const key = foldFileName(path)
    const other = files.get(key) ?? folders.get(key)
    if (other === path && files.has(key)) return { at, message: `The path "${path}" stands there twice` }
    if (other !== undefined) return { at, message: `The path "${path}" cannot exist beside "${other}"` }
    files.set(key, path)
    const parts = path.split('/').slice(0, -1)
    for (const length of parts.keys()) {
      const folder = parts.slice(0, length + 1).join('/')
      const key = foldFileName(folder)
      const clash = files.get(key) ?? folders.get(key)
      if (clash !== undefined && (files.has(key) || clash !== folder))
        return { at, message: `The folder "${folder}" cannot exist beside "${clash}"` }
      folders.set(key, folder)
    }
  }
  return undefined
}
