import { execFile } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { localTrouble } from './failure.ts'

/** Made again by the build, or of no use to it. */
const LEFT_OUT = new Set(['.git', 'node_modules'])
const MOST_OF_A_LIST = 64 * 1024 ** 2

/**
 * What a folder would be committed as: what Git ignores stays here. Without Git, all but what is left out.
 *
 * @returns paths below the folder
 */
export async function filesToSend(folder: string): Promise<string[]> {
  try {
    const words = ['-C', folder, 'ls-files', '--cached', '--others', '--exclude-standard', '-z']
    const { stdout } = await promisify(execFile)('git', words, { maxBuffer: MOST_OF_A_LIST })
    const listed = stdout.split('\0').filter((path) => path !== '')
    // Git still lists what was deleted and not committed.
    return listed.filter((path) => lstatSync(join(folder, path), { throwIfNoEntry: false }) !== undefined)
  } catch {
    return walk(folder, '')
  }
}

function walk(folder: string, below: string): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    if (LEFT_OUT.has(entry.name)) return []
    return entry.isDirectory() ? walk(folder, path) : entry.isFile() || entry.isSymbolicLink() ? [path] : []
  })
}

/** The folder as a gzipped tar: the same files make the same bytes. @throws CommandFailure (local) */
export async function packed(folder: string): Promise<{ bytes: Uint8Array; files: number }> {
  try {
    const paths = (await filesToSend(folder)).filter((path) => !lstatSync(join(folder, path)).isDirectory()).sort()
    const { pack } = await import('tar-stream')
    const tar = pack()
    const whole = buffer(tar)
    for (const path of paths) {
      const stats = lstatSync(join(folder, path))
      const common = { name: path, mtime: new Date(0) }
      if (stats.isSymbolicLink()) tar.entry({ ...common, type: 'symlink', linkname: readlinkSync(join(folder, path)) })
      else tar.entry({ ...common, mode: stats.mode & 0o111 ? 0o755 : 0o644 }, readFileSync(join(folder, path)))
    }
    tar.finalize()
    return { bytes: gzipSync(await whole), files: paths.length }
  } catch (error) {
    throw localTrouble(`The folder ${folder} cannot be packed.`, error)
  }
}
