import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { cachedAt } from '../../scripts/controlplane/cache.ts'

const run = promisify(execFile)

/** The folder of a program on the PATH; undefined if it is not there. */
export function folderOnPath(program: string): string | undefined {
  return (process.env.PATH ?? '').split(delimiter).find((folder) => folder !== '' && existsSync(join(folder, program)))
}

/** Why Debian packages are unavailable here, for the reader of a test result; undefined if they are available. */
export function debianIsMissing(name: string): string | undefined {
  if (existsSync(cachedAt(name))) return undefined
  for (const program of ['apt-get', 'dpkg']) {
    if (spawnSync(program, ['--version']).status !== 0) return `${program} is not installed, which gets ${name}`
  }
  return undefined
}

/**
 * Debian packages, unpacked into the user's cache without root.
 *
 * @returns the folder that is the root of their file system
 */
export async function unpackDebian(name: string, packages: readonly string[]): Promise<string> {
  const folder = cachedAt(name)
  if (existsSync(folder)) return folder
  await mkdir(cachedAt(''), { recursive: true })
  const place = await mkdtemp(cachedAt(`${name}-`))
  try {
    await run('apt-get', ['download', '-q', ...packages], { cwd: place, timeout: 120_000 })
    const archives = (await readdir(place)).filter((file) => file.endsWith('.deb'))
    for (const archive of archives) await run('dpkg', ['-x', join(place, archive), join(place, 'root')])
    await rename(join(place, 'root'), folder)
  } catch (error) {
    if (!existsSync(folder)) throw new Error(`The Debian packages of ${name} could not be installed.`, { cause: error })
  } finally {
    await rm(place, { recursive: true, force: true })
  }
  return folder
}

/** The same for a test, which is skipped if they are unavailable. */
export async function unpackDebianOrSkip(
  name: string,
  packages: readonly string[],
  test: Mocha.Context,
): Promise<string> {
  const why =
    debianIsMissing(name) ??
    (await unpackDebian(name, packages).then(
      () => undefined,
      () => `apt-get has no ${packages[0]}`,
    ))
  if (why === undefined) return unpackDebian(name, packages)
  console.log(`    skipped: ${why}`)
  return test.skip()
}
