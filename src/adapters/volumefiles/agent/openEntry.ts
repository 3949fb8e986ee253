import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, type Stats } from 'node:fs'
import type { FileEntry } from '../../../contracts/files.ts'

/** Opens a path without opening the file: no FIFO blocks, no device reacts (open(2); missing in Node's constants). */
const O_PATH = 0o10000000

/**
 * An open file or folder. It stays the same one whatever is renamed or replaced meanwhile. Names are looked up in it
 * one at a time and links are never followed, like openat(2) with O_NOFOLLOW.
 */
export class OpenEntry {
  readonly fd: number

  private constructor(fd: number) {
    this.fd = fd
  }

  /** @param folder a mount; trusted, because its path comes from the platform and not from a request */
  static folder(folder: string): OpenEntry {
    return new OpenEntry(openSync(folder, O_PATH | constants.O_DIRECTORY))
  }

  /** @throws Error ENOENT, EACCES, ENAMETOOLONG; with `isFolder` ENOTDIR, also for a link to a folder */
  child(name: Name, isFolder = false): OpenEntry {
    const flags = O_PATH | constants.O_NOFOLLOW | (isFolder ? constants.O_DIRECTORY : 0)
    return new OpenEntry(openSync(this.at(name), flags))
  }

  /** Returns the kernel's path to a name in this folder, even if the folder has been moved. */
  at(name: Name): Buffer {
    return Buffer.concat([Buffer.from(`/proc/self/fd/${this.fd}/`), Buffer.from(name as Buffer)])
  }

  /** Returns the kernel's path to this very file or folder. */
  get self(): string {
    return `/proc/self/fd/${this.fd}`
  }

  get stats(): Stats {
    return fstatSync(this.fd)
  }

  statsOf(name: Name): Stats {
    return lstatSync(this.at(name))
  }

  /** Returns the target of a link in this folder; undefined if it is no longer a link. */
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

  /** Opens the file for reading. */
  read(): number {
    return openSync(this.self, constants.O_RDONLY | constants.O_NONBLOCK)
  }

  close(): void {
    closeSync(this.fd)
  }
}

/** Bytes if it comes from the volume, where names need not be valid Unicode. */
export type Name = string | Buffer

/** Returns undefined unless it is a file, folder or link. */
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
