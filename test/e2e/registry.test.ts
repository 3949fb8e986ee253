import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { PULL_SECRET, repositoryObjectName } from '../../src/contracts/registry/names.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { RegistryRepository } from '../../src/crds/registry.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { registrySuite } from '../suites/registrySuite.ts'
import { call, expectCall, makeBoundary, makeCaller, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator, makeServiceAccount, testPlatform } from '../worlds/tenant.ts'

type Entry = { action: string; actor: string; repository: string | null; digest: string | null; outcome: string }
type Build = { username: string; token: string; repository: string; scopes: string[]; expiresAt: string }
type Minted = { username: string; password: string; scope: string; secretName: string; dockerConfigJson: string }

const INTERNAL = '/v1/internal/registries'

describe('container registry', () => {
  const { world, client, repository, image, push, digest, makeJob, asOwner } = registrySuite()
  let admin: KubeClient
  before(async () => {
    admin = await administrator()
  })
  after(() => admin?.close())

  /** Pushing waits while a run removes images, which other tests may start. */
  const patiently = <Answer extends { status: number }>(ask: () => Promise<Answer>) =>
    until('no run removes', async () => {
      const answer = await ask()
      return answer.status !== 503 && answer
    })
  const token = (query: string, headers: Record<string, string> = {}) =>
    patiently(() =>
      call<{ access_token: string; scope: string | null }>('GET', `/registry/auth/token${query}`, undefined, {
        token: null,
        headers,
      }),
    )
  const form = (fields: Record<string, string>) => {
    const body = new URLSearchParams(fields).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return patiently(() =>
      call<{ refresh_token: string; scope: string | null; code: string }>('POST', '/registry/auth/token', body, {
        token: null,
        headers,
      }),
    )
  }
  const audit = async (query: string) =>
    (await expectCall<{ items: Entry[] }>(200, 'GET', `/resources/registries/audit?${query}`)).body.items

  it('accepts an access token for push and pull, and records both in the audit', async () => {
    const crane = await client('token', world.owner.token)
    const name = repository()
    await push(crane, image(name))
    const pushed = await digest(crane, image(name))
    expect(await crane.succeed('ls', `${world.host}/${name}`)).to.equal('v1')
    const path = `${INTERNAL}/manifests?repository=${name}&tag=v1`
    const { body } = await expectCall<{ digest: string; isPinned: boolean }>(200, 'GET', path, undefined, asOwner())
    expect(body).to.include({ digest: pushed, isPinned: false, isRunning: false })
    await until('the audit contains push and pull', async () => {
      const entries = await audit(`repository=${name}`)
      const actions = entries.filter(({ actor }) => actor === world.owner.principalId).map(({ action }) => action)
      return ['Token', 'Push', 'Pull'].every((action) => actions.includes(action))
    })
    const ref = { namespace: boundaryNamespace(world.boundary), name: repositoryObjectName(name) }
    await until('the repository is known with its tag', async () => {
      const { status } = (await admin.get(RegistryRepository.resource, ref)) as unknown as RegistryRepository
      expect(status?.digests).to.have.length(1)
      return expect(status?.digests?.[0]).to.deep.include({ digest: pushed, tags: ['v1'] })
    })
  })

  it('accepts a client id and secret, and mounts blobs across repositories', async () => {
    const account = await makeServiceAccount(admin)
    const spec = { principalId: account.clientId, principalType: 'ServicePrincipal', roleDefinitionName: 'Contributor' }
    await admin.create(RoleAssignment.resource, {
      apiVersion: RoleAssignment.apiVersion,
      kind: RoleAssignment.kind,
      metadata: { name: uniqueName('push'), namespace: boundaryNamespace(world.boundary) },
      spec: { ...spec, scope: `/boundaries/${world.boundary}` },
    })
    const crane = await client(account.clientId, account.clientSecret)
    const [from, to] = [repository(), repository()]
    await until('the assignment counts', () => push(crane, image(from)).then(() => true))
    const copied = await crane.run('copy', image(from), image(to))
    expect(copied.code, copied.error).to.equal(0)
    expect(copied.error).to.match(/mounted blob/i)
    expect(await digest(crane, image(to))).to.equal(await digest(crane, image(from)))
    const regctl = await client(account.clientId, account.clientSecret, 'regctl')
    expect(await regctl.succeed('tag', 'ls', `${world.host}/${to}`)).to.equal('v1')
    expect(await regctl.succeed('image', 'digest', image(to))).to.equal(await digest(crane, image(to)))
  })

  it('refuses foreign boundaries, pushes by readers, invalid repositories and deletions', async () => {
    const crane = await client('token', world.owner.token)
    const name = repository()
    await push(crane, image(name))
    const other = (await makeBoundary()).id
    const group = (await makeGroup(other)).name
    const stranger = await makeCaller({ Contributor: `/boundaries/${other}` })
    const strange = await client('token', stranger.token)
    expect((await strange.run('digest', image(name))).code).to.equal(1)
    expect((await crane.run('digest', image(repository('web', { ...world, boundary: other, group })))).code).to.equal(1)
    const reader = await makeCaller({ Reader: `/boundaries/${world.boundary}` })
    const reading = await client('token', reader.token)
    expect(await digest(reading, image(name))).to.match(/^sha256:/)
    await push(reading, image(name, 'mine')).then(
      () => expect.fail('a reader pushed'),
      (error: Error) => expect(error.message).to.match(/401|403|UNAUTHORIZED|DENIED/i),
    )
    for (const wrong of [world.boundary, `${name}/more`, `${world.boundary}/${world.group}/rockets/web`]) {
      expect((await crane.run('digest', `${world.host}/${wrong}:v1`)).code, wrong).to.equal(1)
    }
    expect((await crane.run('delete', `${world.host}/${name}@${await digest(crane, image(name))}`)).code).to.equal(1)
    expect((await (await client()).run('digest', image(name))).code, 'anonymously').to.equal(1)
    await until('the audit contains the refusal', async () => {
      const refused = await audit(`boundary=${world.boundary}&action=refused`)
      return refused.some(({ actor }) => actor === stranger.principalId)
    })
  })

  it('mints a build token that pushes one resource only', async () => {
    const name = uniqueName('job')
    await makeJob(name)
    const body = { boundary: world.boundary, resourceGroup: world.group, kind: 'jobs', name }
    const minted = await expectCall<Build>(200, 'POST', `${INTERNAL}/mint-build-token`, body, asOwner())
    expect(minted.body).to.include({ repository: repository(name), registry: world.host })
    const crane = await client(minted.body.username, minted.body.token)
    await push(crane, image(repository(name)))
    await push(crane, image(repository())).then(
      () => expect.fail('it pushed another resource'),
      (error: Error) => expect(error.message).to.match(/401|403|UNAUTHORIZED|DENIED/i),
    )
    const missing = await call('POST', `${INTERNAL}/mint-build-token`, { ...body, name: 'nothing' }, asOwner())
    expect([missing.status, missing.body.code]).to.deep.equal([422, 'REFERENCE_NOT_FOUND'])
    const nobody = await makeCaller()
    const denied = await call('POST', `${INTERNAL}/mint-build-token`, body, { token: nobody.token })
    expect([denied.status, denied.body.code]).to.deep.equal([403, 'FORBIDDEN'])
  })

  it('mints a pull credential of the boundary, also stored in its groups, which cannot push', async () => {
    const owner = await client('token', world.owner.token)
    const name = repository()
    await push(owner, image(name))
    const path = `${INTERNAL}/mint-boundary-credential`
    const { body } = await expectCall<Minted>(200, 'POST', path, { boundary: world.boundary }, asOwner())
    expect(body).to.include({ secretName: PULL_SECRET, scope: `repository:${world.boundary}/*:pull` })
    const kept = await until('the pull secret is there', () =>
      admin
        .get<KubeObject & { data?: Record<string, string> }>(secret, {
          namespace: groupNamespace(world.boundary, world.group),
          name: PULL_SECRET,
        })
        .catch(() => undefined),
    )
    const config = JSON.parse(Buffer.from(kept.data?.['.dockerconfigjson'] ?? '', 'base64').toString())
    const ofGroup = config.auths[world.host] as { username: string; password: string }
    for (const { username, password } of [body, ofGroup]) {
      const pulling = await client(username, password)
      expect(await digest(pulling, image(name))).to.match(/^sha256:/)
      await push(pulling, image(name, 'no')).then(
        () => expect.fail('it pushed'),
        (error: Error) => expect(error.message).to.match(/401|403|UNAUTHORIZED|DENIED/i),
      )
    }
    const unknown = await call('POST', path, { boundary: randomUUID() })
    expect([unknown.status, unknown.body.code]).to.deep.equal([422, 'REFERENCE_NOT_FOUND'])
    const denied = await call('POST', path, { boundary: world.boundary }, { token: (await makeCaller()).token })
    expect(denied.status).to.equal(403)
  })

  it('issues no further token with a scope once the role is removed', async () => {
    const builder = await makeCaller({ Contributor: `/boundaries/${world.boundary}` })
    const name = uniqueName('job')
    await makeJob(name)
    const body = { boundary: world.boundary, resourceGroup: world.group, kind: 'jobs', name }
    const minted = await expectCall<Build>(200, 'POST', `${INTERNAL}/mint-build-token`, body, { token: builder.token })
    const scope = `repository:${repository(name)}:pull,push`
    const { username, token: password } = minted.body
    const fields = { grant_type: 'password', username, password, scope, access_type: 'offline' }
    const first = await form(fields)
    expect([first.status, first.body.scope]).to.deep.equal([200, scope])
    const again = { grant_type: 'refresh_token', refresh_token: first.body.refresh_token, scope }
    expect((await form(again)).body.scope).to.equal(scope)
    await expectCall(204, 'DELETE', `/boundaries/${world.boundary}/iam/members/${builder.principalId}`)
    await until('the minted token gets no scope', async () => (await form(fields)).body.scope === null)
    expect((await form(again)).body.scope).to.equal(null)
    const basic = Buffer.from(`token:${builder.token}`).toString('base64')
    const own = await token(`?scope=${encodeURIComponent(scope)}`, { authorization: `Basic ${basic}` })
    expect([own.status, own.body.scope]).to.deep.equal([200, null])
  })

  it('rejects a refresh token after the client secret has been replaced', async () => {
    const { clientId: username, clientSecret: password } = await makeServiceAccount(admin)
    const scope = `repository:${repository()}:pull`
    const first = await form({ grant_type: 'password', username, password, scope, access_type: 'offline' })
    const again = () => form({ grant_type: 'refresh_token', refresh_token: first.body.refresh_token, scope })
    expect([first.status, (await again()).status]).to.deep.equal([200, 200])
    const replaced = { stringData: { 'client-secret': `another secret of ${username}` } }
    await admin.mergePatch(secret, { namespace: SYSTEM_NAMESPACE, name: `client-${username}` }, replaced)
    expect((await again()).status).to.equal(401)
  })

  it('returns 400, 401 and anonymous tokens as the token protocol defines', async () => {
    const wrong = await token('?service=another&scope=repository:a:pull')
    expect(wrong.status).to.equal(400)
    const none = await token(`?service=${world.host}`)
    expect([none.status, none.headers.get('www-authenticate')?.startsWith('Basic ')]).to.deep.equal([401, true])
    const bad = await token('', { authorization: `Basic ${Buffer.from('token:nothing').toString('base64')}` })
    expect([bad.status, bad.headers.get('www-authenticate')?.startsWith('Basic ')]).to.deep.equal([401, true])
    const anybody = await token(`?service=${world.host}&scope=repository:${repository()}:pull&x=ignored`)
    expect([anybody.status, anybody.body.scope]).to.deep.equal([200, null])
    expect((await form({})).status).to.equal(400)
    expect((await form({ grant_type: 'password', username: randomUUID(), password: 'no' })).status).to.equal(401)
    expect((await form({ grant_type: 'refresh_token', refresh_token: 'no' })).status).to.equal(401)
  })

  it('accepts a notification once, and only with the shared secret', async () => {
    const { notifySecretFile = '' } = testPlatform().registry ?? {}
    const { readFileSync } = await import('node:fs')
    const shared = { 'x-freehold-registry-secret': readFileSync(notifySecretFile, 'utf8').trim() }
    const target = { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest: `sha256:${'a'.repeat(64)}` }
    const event = { id: randomUUID(), action: 'pull', target: { ...target, repository: 'not/ours' } }
    const notify = (body: unknown, headers: Record<string, string>) =>
      call<{ accepted: number; duplicates: number }>('POST', `${INTERNAL}/notify`, body, { token: null, headers })
    expect((await notify({ events: [event] }, {})).status).to.equal(401)
    expect((await notify({ events: [event] }, { 'x-freehold-registry-secret': 'no' })).status).to.equal(401)
    expect((await notify({ events: 'none' }, shared)).status).to.equal(400)
    expect((await notify({ events: [event] }, shared)).body).to.deep.equal({ accepted: 1, duplicates: 0 })
    expect((await notify({ events: [event] }, shared)).body).to.deep.equal({ accepted: 0, duplicates: 1 })
  })

  it('returns 404 for a missing manifest, and to callers who may not pull', async () => {
    const path = `${INTERNAL}/manifests?repository=${repository()}&tag=v1`
    expect((await call('GET', path, undefined, asOwner())).status).to.equal(404)
    expect((await call('GET', path, undefined, { token: (await makeCaller()).token })).status).to.equal(404)
    expect((await call('GET', `${INTERNAL}/manifests`, undefined, asOwner())).status).to.equal(400)
  })
})
