import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, type Stats } from 'node:fs'
import type { FileEntry } from '../../../contracts/files.ts'

/** Opens a place without opening what is there: no FIFO blocks, no device acts (open(2); Node has no name for it). */
const O_PATH = 0o10000000

/**
 * A file or folder that is held open. Whatever is renamed or replaced meanwhile, it stays the same one: names are looked
 * up in it one at a time and links are never followed, which is what openat(2) with O_NOFOLLOW does.
 */
export class Held {
  readonly fd: number

  private constructor(fd: number) {
    this.fd = fd
  }

  /** @param folder a mount; trusted, as it is named by the platform and not by a request */
  static folder(folder: string): Held {
    return new Held(openSync(folder, O_PATH | constants.O_DIRECTORY))
  }

  /** @throws Error ENOENT, EACCES, ENAMETOOLONG; with `isFolder` ENOTDIR, also for a link to a folder */
  child(name: Name, isFolder = false): Held {
    const flags = O_PATH | constants.O_NOFOLLOW | (isFolder ? constants.O_DIRECTORY : 0)
    return new Held(openSync(this.at(name), flags))
  }

  /** The path by which the kernel reaches a name in this folder: of the folder itself, wherever it is by now. */
  at(name: Name): Buffer {
    return Buffer.concat([Buffer.from(`/proc/self/fd/${this.fd}/`), Buffer.from(name as Buffer)])
  }

  /** The path by which the kernel reaches this very file or folder. */
  get self(): string {
    return `/proc/self/fd/${this.fd}`
  }

  get stats(): Stats {
    return fstatSync(this.fd)
  }

  statsOf(name: Name): Stats {
    return lstatSync(this.at(name))
  }

  /** What a link in this folder says; undefined if it is no link any more. */
  linkOf(name: Name): string | undefined {
    try {
      return readlinkSync(this.at(name))
    } catch {
      return undefined
    }
  }

  /** @param path of the entry in the container */
  entry(name: Name, path: string): FileEntry | undefined {
    const stats = this.statsOf(name)
    const type = typeOf(stats)
    return type && entryOf(stats, path, type === 'Link' ? (this.linkOf(name) ?? null) : null)
  }

  /** Opened for reading. @param flags beside O_RDONLY */
  read(): number {
    return openSync(this.self, constants.O_RDONLY | constants.O_NONBLOCK)
  }

  close(): void {
    closeSync(this.fd)
  }
}

/** As bytes where it comes from the volume: it need not be Unicode. */
export type Name = string | Buffer

/** Undefined for what is neither file, folder nor link. */
export function typeOf(stats: Stats): FileEntry['type'] | undefined {
  if (stats.isFile()) return 'File'
  if (stats.isDirectory()) return 'Directory'
  return stats.isSymbolicLink() ? 'Link' : undefined
}

export function entryOf(stats: Stats, path: string, linkTarget: string | null = null): FileEntry {
  return {
    name: path.slice(path.lastIndexOf('/') + 1),
    path,
    type: typeOf(stats) ?? 'File',
    sizeBytes: stats.isDirectory() ? 0 : stats.size,
    modifiedAt: stats.mtime.toISOString(),
    mode: (stats.mode & 0o7777).toString(8).padStart(4, '0'),
    linkTarget,
  }
}
