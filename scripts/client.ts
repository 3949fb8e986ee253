import { execFile } from 'node:child_process'
import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ownWords } from './commandLine.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..')
const PACKAGE = join(ROOT, 'packages/client')

/**
 * Compiles the client and packs it as npm would publish it.
 *
 * @param folder where the package is put together; emptied first
 * @returns the path of the tarball
 */
export async function packClient(folder: string): Promise<string> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const compiler = join(ROOT, 'node_modules/.bin/tsc')
  await run(compiler, ['-p', join(PACKAGE, 'tsconfig.json'), '--outDir', join(folder, 'dist')])
  for (const name of ['package.json', 'README.md', 'LICENSE']) await cp(join(PACKAGE, name), join(folder, name))
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: folder })
  const [{ filename } = { filename: '' }] = JSON.parse(stdout) as { filename: string }[]
  return join(folder, filename)
}

if (import.meta.main) {
  ownWords(
    'Usage: npm run --silent client\nPacks the client of packages/client, and prints the path of the tarball.',
    {},
  )
  console.log(await packClient(join(ROOT, '.freehold/client')))
}
