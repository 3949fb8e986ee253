import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { groupNamespace } from '../../src/core/names.ts'
import { type Ended, endOf, freehold as runFreehold, spawnFreehold } from '../worlds/freehold.ts'
import { call, makeCaller, uniqueName, until } from '../worlds/platform.ts'
import { PLATFORM_VARIABLE, testPlatform } from '../worlds/tenant.ts'

describe('freehold', () => {
  let home: string
  let credentials: Record<string, string>
  let boundary: string
  const group = uniqueName('cli')

  const freehold = (words: string[], options: { env?: Record<string, string>; input?: string; home?: string } = {}) =>
    runFreehold(words, {
      home: options.home ?? home,
      environment: options.env ?? credentials,
      input: options.input ?? '',
    })
  const succeeds = async (...words: string[]) => {
    const ended = await freehold(words)
    expect(ended.code, `freehold ${words.join(' ')}: ${ended.err}`).to.equal(0)
    return ended
  }
  const json = async (...words: string[]) => JSON.parse((await succeeds(...words, '-o', 'json')).out)

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'freehold-cli-'))
    const { clientId, clientSecret } = testPlatform()
    credentials = { PLATFORM_CLIENT_ID: clientId, PLATFORM_CLIENT_SECRET: clientSecret }
    await succeeds('setup', '--dev', process.env[PLATFORM_VARIABLE] ?? '')
    // It signs in as well; here the variables identify the caller.
    await succeeds('logout')
    boundary = (await json('create', 'boundary', '--data', '{"displayName":"Command line"}')).id
    await succeeds('create', 'resourcegroup', group, '--boundary', boundary)
    await succeeds('use', '--boundary', boundary, '--group', group)
    await until('the group is running', async () => (await json('get', 'rg', group)).status === 'Running')
  })
  after(async () => {
    if (boundary !== undefined) await call('DELETE', `/boundaries/${boundary}/resourcegroups/${group}`)
    await rm(home, { recursive: true, force: true })
  })

  it('prints its version and that of the platform, and null without a platform', async () => {
    const versions = await json('version')
    const { body } = await call<{ version: string; kubernetesVersion: string }>('GET', '/version', undefined, {
      token: null,
    })
    expect(versions.platform).to.include({ version: body.version, kubernetesVersion: body.kubernetesVersion })
    const elsewhere = await endOf(spawnFreehold(['--version'], join(home, 'nobody')))
    expect(JSON.parse(elsewhere.out), elsewhere.err).to.deep.equal({ client: versions.client, platform: null })
  })

  it('prints the caller and the credential used, without the secret', async () => {
    const who = await json('whoami')
    expect(who).to.include({ principalId: credentials.PLATFORM_CLIENT_ID, credential: 'PLATFORM_CLIENT_ID', boundary })
    const { out, err } = await succeeds('whoami', '-o', 'yaml')
    expect(out + err).to.not.include(credentials.PLATFORM_CLIENT_SECRET)
    expect(out).to.not.match(/eyJ/)
  })

  it('stores its settings with mode 600 and without secrets', async () => {
    const { mode } = await stat(join(home, '.config/freehold/config.json'))
    expect((mode & 0o777).toString(8)).to.equal('600')
    expect(await readFile(join(home, '.config/freehold/config.json'), 'utf8')).to.not.include('ecret')
  })

  it('creates a vector database, lists it in each format, gets and deletes it', async () => {
    const name = uniqueName('vec')
    expect(await json('create', 'vectorcluster', name, '-d', '{"replicas":1}')).to.include({ name, replicas: 1 })
    const lists = [
      await json('list', 'vectorclusters', '-g', group, '-b', boundary),
      load((await succeeds('list', 'vc', '-o', 'yaml')).out) as { name: string }[],
      await json('list', 'vectorclusters', '--all-groups', '--filter', `name:eq:${name}`),
      await json('get', 'vectorclusters', '--limit', '1'),
    ]
    for (const items of lists) expect(items.map((item: { name: string }) => item.name)).to.deep.equal([name])
    const table = (await succeeds('list', 'vectorclusters', '-o', 'table')).out.split('\n')
    expect(table[0]).to.match(/^NAME +RESOURCE GROUP +STATUS/)
    expect(table[1]).to.include(name).and.to.include(group)
    expect((await succeeds('get', 'vectorcluster', name, '-o', 'table')).out).to.match(/^name +vec-/m)
    expect((await succeeds('delete', 'vectorcluster', name)).out).to.equal('')
    await until('it is deleted', async () => (await freehold(['get', 'vectorcluster', name])).code === 1)
  })

  it('applies a manifest of kubectl, and applies it again when it has changed', async () => {
    const name = uniqueName('vec')
    const file = join(home, 'vector.yaml')
    const manifest = (replicas: number) => `
apiVersion: data.freehold.dev/v1alpha1
kind: VectorCluster
metadata:
  name: ${name}
  namespace: ${groupNamespace(boundary, group)}
spec:
  replicas: ${replicas}
`
    await writeFile(file, manifest(1))
    expect((await succeeds('apply', '-f', file)).out).to.equal(`VectorCluster "${name}" created\n`)
    const changed = await freehold(['apply', '-f', '-', '-g', 'another'], { input: manifest(2) })
    expect(changed).to.include({ code: 0, out: `VectorCluster "${name}" configured\n` })
    expect(await json('get', 'vectorcluster', name)).to.include({ name, replicas: 2, resourceGroup: group })
    const nowhere = manifest(1).replace('namespace: ', 'namespace: other-')
    expect(await freehold(['apply', '-f', '-'], { input: nowhere })).to.include({ code: 2, out: '' })
    await succeeds('delete', 'vectorcluster', name)
  })

  it('applies a folder with a new group and its resources, whose manifests name no namespace', async () => {
    const folder = resolve(import.meta.dirname, '../../examples/rest')
    const { out } = await succeeds('apply', '-f', folder, '-g', 'search')
    expect(out).to.equal('ResourceGroup "search" created\nVectorCluster "products" created\n')
    expect(await json('get', 'vectorcluster', 'products', '-g', 'search')).to.include({ replicas: 3 })
    const named = `apiVersion: freehold.dev/v1alpha1\nkind: Boundary\nmetadata: {name: ${randomUUID()}}\nspec: {displayName: Acme}`
    const refused = await freehold(['apply', '-f', '-'], { input: named })
    expect(refused.code).to.equal(1)
    // REST gives boundaries their ids, and the API server lets only administrators of the cluster choose one.
    expect(refused.err).to.match(/cannot create resource "boundaries"/)
    await succeeds('delete', 'resourcegroup', 'search')
  })

  it('applies kinds of REST under the names of Kubernetes, and finds no difference afterwards', async () => {
    const job = uniqueName('job')
    const [data, compute] = ['data', 'compute'].map((each) => `${each}.freehold.dev/v1alpha1`)
    const manifests = [
      `{apiVersion: ${compute}, kind: PlatformJob, metadata: {name: ${job}}, spec: {image: docker.io/library/busybox, tag: '1'}}`,
      `{apiVersion: ${data}, kind: SqlInstance, metadata: {name: ${uniqueName('sql')}}, spec: {engine: MariaDb}}`,
      `{apiVersion: ${compute}, kind: ContainerInstance, metadata: {name: ${uniqueName('cti')}}, spec: {components: [{name: a, image: 'nginx:1'}]}}`,
      `{apiVersion: ${compute}, kind: FunctionNamespace, metadata: {name: ${uniqueName('fn')}}, spec: {runtime: nodejs, env: [{name: STAGE, value: production}]}}`,
    ]
    const file = join(home, 'kinds.yaml')
    await writeFile(file, manifests.join('\n---\n'))
    expect((await succeeds('apply', '-f', file)).out).to.match(/^(?:\w+ "[\w-]+" created\n){4}$/)
    const same = await freehold(['diff', '-f', file])
    expect(same.code, same.out + same.err).to.equal(0)
    expect((await succeeds('apply', '-f', file)).out).to.match(/^(?:\w+ "[\w-]+" unchanged\n){4}$/)
    expect((await freehold(['wait', 'job', job])).err).to.include(job)
  })

  it('describes a secret without its value', async () => {
    const vault = uniqueName('vault')
    await succeeds('create', 'secretvault', vault, '--wait')
    await succeeds('create', 'secret', 'Tok', '--param', `resourceName=${vault}`, '-d', '{"value":"s3cr3t"}')
    const { out, err } = await succeeds('describe', 'secret', 'Tok', '--param', `resourceName=${vault}`)
    expect(out).to.include('Tok').and.to.include(`freehold get secret Tok -p resourceName=${vault}`)
    expect(out + err).not.to.include('s3cr3t')
    await succeeds('delete', 'secretvault', vault, '--yes')
  })

  it('signs in from dev.json as the first Owner until logout', async () => {
    const own = await mkdtemp(join(tmpdir(), 'freehold-cli-'))
    const alone = { env: {}, home: own }
    expect((await freehold(['setup', '--dev', process.env[PLATFORM_VARIABLE] ?? ''], alone)).code).to.equal(0)
    const who = JSON.parse((await freehold(['whoami', '-o', 'json'], alone)).out)
    expect(who).to.include({ principalId: credentials.PLATFORM_CLIENT_ID, credential: 'stored login' })
    const stored = await readFile(join(own, '.local/state/freehold/login.json'), 'utf8')
    expect(stored).to.not.include(credentials.PLATFORM_CLIENT_SECRET)
    expect((await freehold(['logout'], alone)).code).to.equal(0)
    expect((await freehold(['whoami'], alone)).code).to.equal(3)
    await rm(own, { recursive: true })
  })

  it('sends any request, with a body from stdin and headers', async () => {
    const path = '/boundaries/{boundary}/providers/authorization/checkAccess'
    const input = JSON.stringify({ action: 'vectorcluster/read' })
    const words = ['call', 'POST', path, '--data', '-', '-H', 'X-Correlation-Id: from-the-cli']
    const process = spawnFreehold(words, home, { env: credentials })
    process.stdin?.end(input)
    const asked = await endOf(process)
    expect(asked.code, asked.err).to.equal(0)
    expect(JSON.parse(asked.out)).to.be.an('object')
    expect((await json('call', 'GET', '/boundaries?pageSize=1')).items).to.have.lengthOf(1)
  })

  it('exits with the documented code', async () => {
    const nobody = { PLATFORM_TOKEN: 'not-a-token' }
    const reader = await makeCaller({ Reader: `/boundaries/${boundary}` })
    const unreachable = await mkdtemp(join(tmpdir(), 'freehold-cli-'))
    const address = ['--facade-url', 'http://127.0.0.1:1', '--issuer', 'http://127.0.0.1:1/realms/freehold']
    expect((await freehold(['setup', ...address], { home: unreachable })).code).to.equal(0)
    const cases: [string, number, () => Promise<Ended>, RegExp][] = [
      [
        'a missing resource',
        1,
        () => freehold(['get', 'vectorcluster', 'nothing']),
        /NOT_FOUND, 404\)\nCorrelation id: /,
      ],
      [
        'a missing permission',
        1,
        () => freehold(['create', 'vectorcluster', 'never'], { env: { PLATFORM_TOKEN: reader.token } }),
        /FORBIDDEN, 403/,
      ],
      ['an unknown field', 2, () => freehold(['create', 'vc', 'never', '-d', '{"color":"blue"}']), /color/],
      ['an unknown kind', 2, () => freehold(['list', 'nothings']), /no kind/],
      ['an unknown option', 2, () => freehold(['list', 'boundaries', '--all']), /--all/],
      [
        'a client id without a secret',
        2,
        () => freehold(['whoami'], { env: { PLATFORM_CLIENT_ID: 'x' } }),
        /PLATFORM_CLIENT_SECRET/,
      ],
      ['no login', 3, () => freehold(['whoami'], { env: {} }), /freehold login/],
      ['an invalid token', 3, () => freehold(['whoami'], { env: nobody }), /UNAUTHORIZED, 401/],
      [
        'a wrong secret',
        3,
        () => freehold(['whoami'], { env: { ...credentials, PLATFORM_CLIENT_SECRET: 'wrong-secret' } }),
        /invalid_client/,
      ],
      ['no server at the address', 4, () => freehold(['whoami'], { env: nobody, home: unreachable }), /No answer from/],
      ['no setup', 5, () => freehold(['whoami'], { home: '/nonexistent' }), /freehold setup/],
    ]
    for (const [what, code, running, message] of cases) {
      const ended = await running()
      expect(ended.code, `${what}: ${ended.err}`).to.equal(code)
      expect(ended.err, what).to.match(message)
      expect(ended.out, what).to.equal('')
      expect(ended.err, what).to.not.include('wrong-secret')
    }
    await rm(unreachable, { recursive: true })
  })

  it('prefers PLATFORM_TOKEN to a client, and prints a token for other programs', async () => {
    const reader = await makeCaller({ Reader: `/boundaries/${boundary}` })
    const env = { ...credentials, PLATFORM_TOKEN: reader.token }
    const { out } = await freehold(['whoami', '-o', 'json'], { env })
    expect(JSON.parse(out)).to.include({ principalId: reader.principalId, credential: 'PLATFORM_TOKEN' })
    const printed = (await succeeds('token')).out.trim()
    expect((await call('GET', '/boundaries', undefined, { token: printed })).status).to.equal(200)
  })
})
