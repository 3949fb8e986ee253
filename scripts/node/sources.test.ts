import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { BUILDER_PROGRAM } from './builderImage.ts'
import { FILES_PROGRAM } from './filesImage.ts'
import { sourcesOf } from './sources.ts'

const ROOT = resolve(import.meta.dirname, '../..')

describe('the sources of a program', () => {
  for (const program of [BUILDER_PROGRAM, FILES_PROGRAM]) {
    it(`are all that ${program} loads`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'freehold-sources-'))
      try {
        const sources = await sourcesOf(ROOT, program)
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
