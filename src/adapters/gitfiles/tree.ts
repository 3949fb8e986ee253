import { isTemplatePath } from '../../contracts/blueprints/repository.ts'
import { type GitObjects, PackRefused } from './pack.ts'

/** A file that may hold a template, and the id of what is in it. */
export type TreeFile = { readonly path: string; readonly id: string }

/** Entries that are looked at: one tree may stand in another one many times, and so be larger than everything in it. */
const ENTRIES_MAX = 20_000
const DEPTH_MAX = 32
const TREE = '40000'
/** Files, programs among them: no links (120000), no commits of elsewhere (160000). */
const FILES = new Set(['100644', '100755', '100664'])

type Entry = { readonly mode: string; readonly name: string; readonly id: string }

/**
 * Files of templates below a folder of a commit, by the trees that were fetched.
 *
 * @returns undefined if the commit has no such folder
 * @throws PackRefused
 */
export function filesBelow(objects: GitObjects, commit: string, folder: string): TreeFile[] | undefined {
  const top = /^tree ([0-9a-f]{40})\n/.exec(dataOf(objects, commit, 'commit').toString('latin1'))?.[1]
  if (top === undefined) throw new PackRefused('its commit names no tree')
  const parts = folder.split('/').filter((part) => part !== '')
  let id: string | undefined = top
  for (const part of parts) {
    const found: Entry | undefined = entriesOf(objects, id).find(({ name, mode }) => name === part && mode === TREE)
    if (found === undefined) return undefined
    id = found.id
  }
  return new Walk(objects).below(id, parts)
}

class Walk {
  readonly #objects: GitObjects
  #seen = 0

  constructor(objects: GitObjects) {
    this.#objects = objects
  }

  below(tree: string, parts: readonly string[]): TreeFile[] {
    if (parts.length > DEPTH_MAX) throw new PackRefused(`its folders are more than ${DEPTH_MAX} deep`)
    return entriesOf(this.#objects, tree).flatMap(({ mode, name, id }) => {
      this.#seen += 1
      if (this.#seen > ENTRIES_MAX) throw new PackRefused(`it has more than ${ENTRIES_MAX} files and folders`)
      if (mode === TREE) return name.startsWith('.') ? [] : this.below(id, [...parts, name])
      return FILES.has(mode) && isTemplatePath(name) ? [{ path: [...parts, name].join('/'), id }] : []
    })
  }
}

/** `<mode> <name>\0` and the twenty bytes of an id, one after the other. */
function entriesOf(objects: GitObjects, id: string): Entry[] {
  const data = dataOf(objects, id, 'tree')
  const entries: Entry[] = []
  for (let at = 0; at < data.length; ) {
    const [space, end] = [data.indexOf(0x20, at), data.indexOf(0, at)]
    if (space < 0 || end < space || end + 21 > data.length) throw new PackRefused('a folder of it is broken')
    const name = data.toString('utf8', space + 1, end)
    const mode = data.toString('latin1', at, space)
    // What git itself refuses to check out is no name of a file.
    if (name !== '' && !name.includes('/')) entries.push({ mode, name, id: data.toString('hex', end + 1, end + 21) })
    at = end + 21
  }
  return entries
}

function dataOf(objects: GitObjects, id: string, type: 'commit' | 'tree'): Buffer {
  const found = objects.get(id)
  if (found?.type !== type) throw new PackRefused(`a ${type} of it is missing`)
  return found.data
}
