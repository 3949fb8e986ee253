import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { packClient } from '../../scripts/client.ts'
import { testPlatform, tokenFor } from '../worlds/tenant.ts'

const run = promisify(execFile)
const EXAMPLE = join(import.meta.dirname, '../../examples/client')
const COMPILER = join(import.meta.dirname, '../../node_modules/.bin/tsc')

/** The example with types, which must compile for a bundler without the types of Node. */
const TYPED = `
import { createClient, type VectorClusterDto } from '@freehold/client'
const client = createClient({ baseUrl: '/', token: async () => 'x' })
const path = { boundaryId: 'b', resourceGroupName: 'g', name: 'n' }
export const one: Promise<VectorClusterDto> = Promise.resolve(client.vectorClusters.get({ path }))
// @ts-expect-error: a name is missing in the path.
void client.vectorClusters.get({ path: { boundaryId: 'b' } })
export async function names(): Promise<string[]> {
  const found: string[] = []
  for await (const { name } of client.vectorClusters.listInBoundary({ path: { boundaryId: 'b' } })) found.push(name)
  return found
}
`

describe('@freehold/client, installed from its package', () => {
  let folder: string
  let project: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-client-'))
    const tarball = await packClient(join(folder, 'package'))
    project = join(folder, 'project')
    await cp(EXAMPLE, project, { recursive: true })
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', tarball], { cwd: project })
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('contains only its compiled files, README.md, LICENSE and package.json', async () => {
    const home = join(project, 'node_modules/@freehold/client')
    expect((await readdir(home)).sort()).to.deep.equal(['LICENSE', 'README.md', 'dist', 'package.json'])
    const compiled = (await readdir(join(home, 'dist'))).sort()
    expect(compiled).to.deep.equal(
      ['generated', 'index', 'issuer', 'operation', 'waiting'].flatMap((name) => [`${name}.d.ts`, `${name}.js`]),
    )
  })

  for (const [which, find] of [
    ['the Node of the platform', () => process.execPath],
    ['the Node of the machine', () => nodeOfMachine()],
  ] as const) {
    it(`runs the example on ${which}`, async function () {
      const node = find()
      const version = (await run(node, ['--version'])).stdout
      if (Number(/^v(\d+)/.exec(version)?.[1]) < 20) {
        console.log(`    skipped: ${version.trim()} is older than what the client supports`)
        this.skip()
      }
      const { facadeUrl, clientId, clientSecret } = testPlatform()
      const env = { PLATFORM_URL: facadeUrl, PLATFORM_TOKEN: await tokenFor(clientId, clientSecret) }
      const { stdout } = await run(node, ['main.mjs'], { cwd: project, env })
      expect(stdout.trim().split('\n')).to.deep.equal([
        'products is Running',
        'there is products',
        'refused: NOT_FOUND',
      ])
    })
  }

  for (const [where, resolution] of [
    ['Node', { module: 'nodenext', moduleResolution: 'nodenext' }],
    ['a bundler', { module: 'esnext', moduleResolution: 'bundler' }],
  ] as const) {
    it(`has types for ${where}, without the types of Node`, async () => {
      await writeFile(join(project, 'typed.ts'), TYPED)
      const compilerOptions = {
        ...resolution,
        target: 'es2022',
        lib: ['es2022', 'dom'],
        strict: true,
        noEmit: true,
        types: [],
      }
      await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['typed.ts'] }))
      const output = await run(COMPILER, ['-p', project]).then(
        () => '',
        ({ stdout }) => String(stdout),
      )
      expect(output).to.equal('')
    })
  }
})

/** The first on the PATH that is not in our packages; otherwise that one. */
function nodeOfMachine(): string {
  const places = (process.env.PATH ?? '').split(delimiter).filter((place) => !place.includes('node_modules'))
  return places.map((place) => join(place, 'node')).find((path) => existsSync(path)) ?? process.execPath
}
