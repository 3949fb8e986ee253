import { createHash } from 'node:crypto'
import { access, constants, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { goBuild, goVersion, isOlder, takeBuildLock } from '../controlplane/build.ts'
import type { Progress } from '../controlplane/index.ts'

const MODULE = fileURLToPath(new URL('../../tools/versitygw', import.meta.url))
const PACKAGE = 'github.com/versity/versitygw/cmd/versitygw'
const NAME = 'versitygw'

/**
 * The program of the object store: from the cache, or built with Go once for each lock of `tools/versitygw`. Undefined,
 * and said so, if there is no Go that could build it: everything else of the platform runs without.
 *
 * @throws Error if the build fails
 */
export async function findObjectStore(
  progress: Progress,
  signal: AbortSignal,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const files = await Promise.all(['go.mod', 'go.sum'].map((name) => readFile(join(MODULE, name), 'utf8')))
  const base = environment.XDG_CACHE_HOME
  const key = createHash('sha256').update(files.join('\n')).digest('hex').slice(0, 16)
  const folder = join(
    base !== undefined && base !== '' ? base : join(homedir(), '.cache'),
    'freehold',
    `${NAME}-${key}`,
  )
  const program = join(folder, NAME)
  if (await isProgram(program)) return program
  const [found, wanted] = [await goVersion(), /^go (\d+\.\d+(?:\.\d+)?)$/m.exec(files[0] ?? '')?.[1] ?? '']
  const number = /^go(\d+(?:\.\d+)*)/.exec(found ?? '')?.[1]
  if (found === undefined || (number !== undefined && isOlder(number, wanted))) {
    progress.note(`No object store: it is built with Go ${wanted} or newer, which is not on the PATH`)
    return undefined
  }
  await build(folder, program, progress, signal)
  return program
}

async function build(folder: string, program: string, progress: Progress, signal: AbortSignal): Promise<void> {
  await mkdir(folder, { recursive: true })
  const release = await takeBuildLock(join(folder, '.building'), progress, signal)
  const temporary = await mkdtemp(join(folder, '.build-'))
  try {
    if (await isProgram(program)) return
    const output = join(temporary, NAME)
    const args = ['build', '-trimpath', '-ldflags', '-s -w', '-o', output, PACKAGE]
    await progress.step(`build ${NAME} (two minutes the first time)`, () => goBuild(MODULE, args, signal))
    await rename(output, program)
  } finally {
    await rm(temporary, { recursive: true, force: true })
    await release()
  }
}

function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

/** The version that the lock names. */
export async function objectStoreVersion(): Promise<string> {
  const text = await readFile(join(MODULE, 'go.mod'), 'utf8')
  return /github\.com\/versity\/versitygw v(\S+)/.exec(text)?.[1] ?? ''
}
