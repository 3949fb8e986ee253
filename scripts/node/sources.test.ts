import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { build } from 'esbuild'
import { BUILDER_PROGRAM } from './builderImage.ts'
import { FILES_PROGRAM } from './filesImage.ts'
import { sourcesOf } from './sources.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** The modules of the project that a bundler finds. The program itself cannot be imported here: it would run. */
async function bundledBy(program: string): Promise<string[]> {
  const options = { bundle: true, format: 'esm', platform: 'node', packages: 'external', write: false } as const
  const { metafile } = await build({ ...options, entryPoints: [program], absWorkingDir: ROOT, metafile: true })
  return Object.keys(metafile.inputs)
}

describe('sourcesOf', () => {
  for (const program of [BUILDER_PROGRAM, FILES_PROGRAM]) {
    it(`returns all modules that ${program} imports`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'freehold-sources-'))
      try {
        const sources = await sourcesOf(ROOT, program)
        expect(sources).to.include.members(await bundledBy(program))
        for (const path of ['package.json', ...sources]) await cp(join(ROOT, path), join(folder, path))
        await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
        const loaded = sources.filter((path) => path !== program)
        const script = `for (const path of ${JSON.stringify(loaded)}) await import(${JSON.stringify(`${folder}/`)} + path)`
        await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: dirname(folder) })
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })
  }
})
