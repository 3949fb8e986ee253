import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { bundle } from './bundle.ts'

const PROJECT = join(import.meta.dirname, '..')

describe('bundle of the image', () => {
  let root: string
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'freehold-bundle-'))
    await mkdir(join(root, 'src'))
    await symlink(join(PROJECT, 'node_modules'), join(root, 'node_modules'))
  })
  afterEach(() => rm(root, { recursive: true, force: true }))

  it('exports from each dynamically imported package what Node exports', async () => {
    const sources = globSync('src/**/*.ts', { cwd: PROJECT }).filter((path) => !path.endsWith('.test.ts'))
    const texts = await Promise.all(sources.map((path) => readFile(join(PROJECT, path), 'utf8')))
    const later = /(?<!typeof )import\('(?!\.|node:)([^']+)'\)/g
    const packages = new Set(texts.flatMap((text) => Array.from(text.matchAll(later), ([, name = '']) => name)))
    expect([...packages]).to.include.members(['@aws-sdk/client-s3', 'tedious', 'undici'])
    const told = [...packages].map((name) => `'${name}': Object.keys(await import('${name}')).sort()`)
    const program = `console.log(JSON.stringify({ ${told.join(', ')} }))`
    await writeFile(join(root, 'src', 'main.ts'), program)
    await bundle(root)
    const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'dist', 'main.mjs')])
    const seen = JSON.parse(stdout) as Record<string, string[]>
    for (const name of packages)
      expect(seen[name], name).to.deep.equal(Object.keys((await import(name)) as object).sort())
  })
})
