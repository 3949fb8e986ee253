import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { expect } from 'chai'
import { groupNamespace } from '../../src/core/names.ts'
import { until } from '../make/until.ts'
import { FREEHOLD, freeholdSucceeds, freehold as runFreehold, spawnFreehold } from '../worlds/freehold.ts'
import { call, uniqueName } from '../worlds/platform.ts'
import { PLATFORM_VARIABLE, testPlatform } from '../worlds/tenant.ts'

describe('freehold, everyday commands', () => {
  let home: string
  let boundary: string
  const group = uniqueName('daily')

  const freehold = (...words: string[]) => runFreehold(words, { home })
  const succeeds = (...words: string[]) => freeholdSucceeds(words, { home })

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'freehold-daily-'))
    await succeeds('setup', '--dev', process.env[PLATFORM_VARIABLE] ?? '')
    const made = await succeeds('create', 'boundary', '-d', '{"displayName":"Daily"}', '--wait', '-o', 'name')
    boundary = made.out.trim()
    await succeeds('create', 'resourcegroup', group, '--boundary', boundary, '--wait')
    await succeeds('use', '--boundary', boundary, '--group', group)
  })
  after(async () => {
    if (boundary !== undefined) await call('DELETE', `/boundaries/${boundary}/resourcegroups/${group}`)
    await rm(home, { recursive: true, force: true })
  })

  it('waits for a vector database it creates, scales, stops and deletes it', async () => {
    const { out, err } = await succeeds(
      'create',
      'vc',
      'one',
      '-d',
      '{"computePlan":"vector-dev"}',
      '--wait',
      '-o',
      'name',
    )
    expect(out).to.equal('one\n')
    expect(err).to.match(/^vc one: Running/m)
    const scaled = await succeeds('scale', 'vc', 'one', '2', '--wait', '-o', 'jsonpath={.status} {.readyReplicas}')
    expect(scaled.out).to.equal('Running 2\n')
    const stopped = await succeeds('stop', 'vc', 'one')
    expect(stopped.err).to.contain('stop was accepted')
    await succeeds('wait', 'vc', 'one', '--for', 'Stopped')
    const overdue = await freehold('wait', 'vc', 'one', '--for', 'Running', '--timeout', '1s')
    expect(overdue.code).to.equal(7)
    expect(overdue.err).to.match(/is still Stopped/)
    expect((await freehold('wait', 'vc', 'nobody')).code).to.equal(6)
    await succeeds('delete', 'vc', 'one', '--wait')
    expect((await freehold('get', 'vc', 'one')).code).to.equal(1)
  })

  it('describes a resource without its secrets, and reads these on request', async () => {
    await succeeds('create', 'vc', 'two', '-d', '{"computePlan":"vector-dev"}', '--wait')
    const { apiKey } = JSON.parse((await succeeds('read', 'vc', 'two', 'apikey')).out) as { apiKey: string }
    expect(apiKey).to.match(/\S{20}/)
    const { out } = await succeeds('describe', 'vc', 'two')
    expect(out)
      .to.match(/^vc two: Running/)
      .and.to.contain('restEndpoint')
      .and.to.not.contain(apiKey)
    expect(out).to.contain('freehold read vc two apikey')
    expect((await succeeds('read', 'vc', 'two')).out.split('\n')).to.include.members(['apikey', 'health'])
    expect((await freehold('read', 'vc', 'two', 'nothing')).code).to.equal(2)
  })

  it('reads the log of a job, and rejects a kind without logs', async () => {
    await succeeds('create', 'job', 'hello', '-d', '{"image":"docker.io/library/hello-world","tag":"linux"}')
    await succeeds('wait', 'job', 'hello')
    await succeeds('logs', 'job', 'hello', '--tail', '5')
    const refused = await freehold('logs', 'vc', 'two')
    expect([refused.code, refused.err]).to.deep.equal([2, 'vectorclusters have no log.\n'])
  })

  it('watches changes until it is interrupted', async () => {
    const child = spawnFreehold(['watch', 'vc'], home)
    let out = ''
    child.stdout?.on('data', (part) => {
      out += part
    })
    const ended = new Promise<number | null>((done) => child.on('close', done))
    await succeeds('create', 'vc', 'seen', '-d', '{"computePlan":"vector-dev"}')
    await until('the change was printed', () => /^seen: /m.test(out))
    child.kill('SIGINT')
    expect(await ended).to.equal(130)
  })

  it('requires --yes to delete a boundary, and lists the groups that are still in it', async () => {
    const asked = await freehold('delete', 'boundary', boundary)
    expect([asked.code, asked.err]).to.deep.equal([2, 'Deleting a boundary without a terminal needs --yes.\n'])
    const refused = await freehold('delete', 'boundary', boundary, '--yes')
    expect(refused.code).to.equal(1)
    expect(refused.err).to.contain('BOUNDARY_NOT_EMPTY').and.to.contain(`  resourceGroups: ${group}`)
  })

  it('lists plans with their ids, and the verbs of each kind', async () => {
    const { out } = await succeeds('get', 'vectorcomputeplans', '-o', 'table')
    expect(out).to.match(/Medium +vector-medium/)
    expect((await succeeds('list', 'vectorcomputeplans', '-o', 'name')).out.split('\n')).to.include('vector-medium')
    expect((await succeeds('kinds')).out).to.match(/^vectorclusters .*patch delete$/m)
  })

  it('gets a blueprint by its slug, and suggests no command that its routes lack', async () => {
    const [{ slug } = { slug: '' }] = JSON.parse((await succeeds('list', 'blueprints')).out) as { slug: string }[]
    expect(JSON.parse((await succeeds('get', 'blueprint', slug)).out)).to.include({ slug })
    expect((await succeeds('describe', 'blueprint', slug)).out)
      .to.match(/^blueprint /)
      .and.to.not.contain('freehold delete')
    await succeeds('list', 'sources')
    await succeeds('list', 'blueprints/sources')
  })

  it('applies a manifest and waits', async () => {
    const { out, err } = await succeeds(
      'apply',
      '-f',
      resolve(FREEHOLD, '../../examples/rest/20-vector.yaml'),
      '--wait',
    )
    expect(out).to.equal('VectorCluster "products" created\n')
    expect(err).to.match(/^vectorcluster products: Running/m)
  })

  it('rotates a key, and lists what was done and why something was refused', async () => {
    await succeeds('create', 'vc', 'told', '-d', '{"computePlan":"vector-dev","replicas":1}', '--wait')
    const key = async () => (await succeeds('read', 'vc', 'told', 'apikey')).out
    const before = await key()
    await succeeds('rotate', 'vc', 'told')
    await until('the key is another one', async () => (await key()) !== before)
    expect(await freehold('create', 'vc', 'told', '-d', '{"computePlan":"vector-dev","replicas":2}')).to.include({
      code: 1,
    })
    const events = await until('all are recorded', async () => {
      const { out } = await succeeds('events', 'vc', 'told', '-o', 'wide')
      return out.includes('Succeeded') && out.toLowerCase().includes('rotate') && out.includes('already exists') && out
    })
    expect(events).to.contain('Succeeded').and.to.contain('Rest')
    const ofGroup = await succeeds('events', 'resourcegroup', group, '-o', 'table')
    expect(ofGroup.out).to.contain(`${group}/vectorclusters/told`)
    const nothing = await freehold('rotate', 'resourcegroup', group)
    expect(nothing).to.include({ code: 2 })
    await succeeds('delete', 'vc', 'told')
  })

  it('shows what an apply would change', async () => {
    const name = uniqueName('seen')
    const file = join(home, 'changed.yaml')
    const write = (replicas: number) =>
      writeFile(
        file,
        `apiVersion: data.freehold.dev/v1alpha1\nkind: VectorCluster\nmetadata: { name: ${name} }\nspec: { computePlan: vector-dev, replicas: ${replicas} }\n`,
      )
    await write(1)
    const missing = await freehold('diff', '-f', file)
    expect(missing.code, missing.err).to.equal(1)
    expect(missing.out).to.contain('+ it would be created')
    await succeeds('apply', '-f', file, '--wait')
    expect((await succeeds('diff', '-f', file)).out).to.equal('')
    await write(2)
    const changed = await freehold('diff', '-f', file)
    expect(changed.out).to.contain('~ replicas: 1 -> 2')
    expect(changed.code).to.equal(1)
    await succeeds('delete', 'vc', name)
  })

  it('applies every shipped example with the kubeconfig of an administrator', async () => {
    const folders = [...new Set((await readdir(EXAMPLES, { recursive: true })).filter(isManifest).map(dirname))].sort()
    expect(folders).to.have.length.greaterThan(12)
    for (const folder of folders) {
      const { place, id } = await ownCopy(folder, home)
      const where = id === undefined ? [] : ['-b', id]
      const { out } = await succeeds('apply', '-f', place, ...where, '--kubeconfig', testPlatform().kubeconfig)
      const isDone = (line: string) => / (created|configured|unchanged)( \(with Kubernetes\))?$/.test(line)
      expect(
        out
          .trimEnd()
          .split('\n')
          .filter((line) => !isDone(line)),
      ).to.deep.equal([])
    }
    const template = join(EXAMPLES, '61-blueprints/search.yaml')
    const same = await succeeds('diff', '-f', template, '-b', FIRST, '--kubeconfig', testPlatform().kubeconfig)
    expect(same.out).to.equal('')
  })

  it('reports that applying Secrets needs --kubeconfig', async () => {
    const { code, err } = await freehold('apply', '-f', join(EXAMPLES, '80-sources'), '-b', FIRST)
    expect(code).to.equal(1)
    expect(err).to.contain('cannot patch resource "secrets"').and.to.contain('--kubeconfig')
  })
})

const EXAMPLES = resolve(import.meta.dirname, '../../examples')
/** The boundary of the numbered examples. */
const FIRST = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
const isManifest = (path: string) => /\.ya?ml$/.test(path) && !path.includes('node_modules')

/** An example and its boundary. A tree of a whole tenant gets another id, because others may delete it. */
async function ownCopy(folder: string, home: string): Promise<{ place: string; id: string | undefined }> {
  const place = join(EXAMPLES, folder)
  const names = (await readdir(place)).filter(isManifest)
  const texts = await Promise.all(names.map((name) => readFile(join(place, name), 'utf8')))
  const text = texts.join('\n---\n')
  const [, theirs] = /kind: Boundary\nmetadata:\n {2}name: (\S+)/.exec(text) ?? []
  if (theirs === undefined || theirs === FIRST) {
    return { place, id: /namespace:|kind: Boundary/.test(text) ? FIRST : undefined }
  }
  const id = randomUUID()
  const copy = await mkdtemp(join(home, 'tree-'))
  const groups = [...text.matchAll(/kind: ResourceGroup\nmetadata:\n {2}name: (\S+)/g)].map(([, name = '']) => name)
  for (const [index, name] of names.entries()) {
    const renamed = groups.reduce(
      (changed, group) => changed.replaceAll(groupNamespace(theirs, group), groupNamespace(id, group)),
      (texts[index] ?? '').replaceAll(theirs, id),
    )
    await writeFile(join(copy, name), renamed)
  }
  return { place: copy, id }
}
