import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Agent, request } from 'undici'
import { Authority } from '../../scripts/controlplane/pki.ts'
import { ManualClock } from '../../test/make/clock.ts'
import { until } from '../../test/make/until.ts'
import { inlineWorkers } from '../adapters/workers/inline.ts'
import { readConfiguration } from '../config.ts'
import { silentLog } from '../core/log.ts'
import type { KubeObject } from '../core/object.ts'
import { WEBHOOK_CONFIGURATION, WEBHOOK_SERVER_NAME } from '../core/webhook.ts'
import { KubeError } from '../kube/errors.ts'
import { openOwnAuthority } from './ownAuthority.ts'
import { CALLER_NAME, runWebhooks, type Webhooks } from './webhooks.ts'

describe('webhooks of the facade', () => {
  let folder: string
  let authority: Authority
  let foreign: Authority
  let webhooks: Webhooks | undefined
  const noCaches = { get: () => ({ get: () => undefined, subscribe: () => () => undefined }) }
  const clock = new ManualClock()
  const services = { clock, workers: inlineWorkers }
  const options = { services, caches: noCaches, client: {}, isReady: () => false, log: silentLog } as never
  const configuration = (more: Record<string, string>) =>
    readConfiguration({ PLATFORM_ISSUER: 'https://issuer.example.com', ...more })

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-webhooks-'))
    authority = await Authority.open(folder, 'ca')
    foreign = await Authority.open(folder, 'foreign-ca')
    const { certPem, keyPem } = await authority.issue({ commonName: 'w', purpose: 'server', names: ['127.0.0.1'] })
    const path = (name: string) => join(folder, name)
    await writeFile(path('crt'), certPem)
    await writeFile(path('key'), keyPem)
    await writeFile(path('authority'), authority.certPem)
    webhooks = await runWebhooks(
      configuration({
        PLATFORM_WEBHOOK_HOST: '127.0.0.1',
        PLATFORM_WEBHOOK_PORT: '0',
        PLATFORM_WEBHOOK_CERTIFICATE: path('crt'),
        PLATFORM_WEBHOOK_KEY: path('key'),
        PLATFORM_WEBHOOK_CLIENT_AUTHORITY: path('authority'),
        PLATFORM_REQUESTS_PER_MINUTE: '60',
      }),
      options,
    )
  })
  after(async () => {
    await webhooks?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const review = JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: {} })

  async function post(by: Authority | undefined, commonName: string, body = review, path = '/authorize') {
    const pair = await by?.issue({ commonName, purpose: 'client' })
    const client = pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }
    const agent = new Agent({ connect: { ca: authority.certPem, ...client } })
    try {
      const url = `https://127.0.0.1:${webhooks?.port}${path}`
      const { statusCode, body: text } = await request(url, { method: 'POST', body, dispatcher: agent })
      return { status: statusCode, text: await text.text() }
    } finally {
      await agent.destroy()
    }
  }
  const refusal = (answer: Promise<unknown>) =>
    answer.then(
      () => 'answered',
      () => 'refused',
    )

  it('answer the API server', async () => {
    const { status, text } = await post(authority, CALLER_NAME)
    expect(status).to.equal(200)
    expect(JSON.parse(text)).to.have.nested.property('status.allowed', false)
  })

  it("return 403 to another client of the cluster's authority", async () => {
    expect((await post(authority, 'kubernetes-admin')).status).to.equal(403)
  })

  it('use a certificate within a minute of its renewal', async () => {
    const serve = async (by: Authority) => {
      const { certPem, keyPem } = await by.issue({ commonName: 'w', purpose: 'server', names: ['127.0.0.1'] })
      await writeFile(join(folder, 'crt'), certPem)
      await writeFile(join(folder, 'key'), keyPem)
      await clock.advance(60_000)
    }
    const isTrusted = () => refusal(post(authority, CALLER_NAME))
    await serve(foreign)
    await until('it has another authority', async () => (await isTrusted()) === 'refused')
    await serve(authority)
    await until('it has the authority again', async () => (await isTrusted()) === 'answered')
  })

  it('reject clients with a foreign certificate or none', async () => {
    expect(await refusal(post(foreign, CALLER_NAME))).to.equal('refused')
    expect(await refusal(post(undefined, ''))).to.equal('refused')
  })

  it('delay a user above half of the REST limit, and no other user or service account', async () => {
    const [greedy, modest] = ['p:11111111-1111-4111-8111-111111111111', 'p:22222222-2222-4222-8222-222222222222']
    const ask = (user: string) =>
      post(authority, CALLER_NAME, JSON.stringify({ ...JSON.parse(review), spec: { user } }))
    for (let at = 0; at < 3; at += 1) expect((await ask(greedy)).status).to.equal(200)
    let isAnswered = false
    const further = ask(greedy).finally(() => {
      isAnswered = true
    })
    // One timer is that of the certificate.
    await until('the question waits', () => clock.pending === 2)
    expect((await ask(modest)).status).to.equal(200)
    expect((await ask('system:serviceaccount:flux-system:kustomize-controller')).status).to.equal(200)
    expect(isAnswered).to.equal(false)
    await clock.advance(2_000)
    expect((await further).status).to.equal(200)
  })

  it('return 400 for invalid or large reviews and 404 for other paths', async () => {
    expect((await post(authority, CALLER_NAME, '{')).status).to.equal(400)
    expect((await post(authority, CALLER_NAME, '{}')).status).to.equal(400)
    expect((await post(authority, CALLER_NAME, ' '.repeat(300_000))).status).to.equal(400)
    expect((await post(authority, CALLER_NAME, review, '/')).status).to.equal(404)
  })

  it('accept audit events of 12 MB, but no review of that size and no 17 MB', async () => {
    const refused = { stage: 'ResponseComplete', responseStatus: { code: 422, message: 'x'.repeat(12_000_000) } }
    const log = JSON.stringify({ kind: 'EventList', items: [refused] })
    // Accepted, but to be sent again: the facade does not know yet what exists.
    expect((await post(authority, CALLER_NAME, log, '/audit')).status).to.equal(500)
    expect((await post(authority, CALLER_NAME, log)).status).to.equal(400)
    expect((await post(authority, CALLER_NAME, ' '.repeat(17_000_000), '/audit')).status).to.equal(400)
  })

  it('do not start without a certificate or without the client authority', async () => {
    expect(await runWebhooks(configuration({}), options)).to.equal(undefined)
    const half = configuration({ PLATFORM_WEBHOOK_CERTIFICATE: join(folder, 'crt') })
    expect(await refusal(runWebhooks(half, options))).to.equal('refused')
  })

  describe('with an authority of their own', () => {
    const stored = new Map<string, KubeObject>()
    const applied: KubeObject[] = []
    const missing = new KubeError('NotFound', 'missing', { status: 404 })
    const client = {
      get: async (_: unknown, { name }: { name: string }) => stored.get(name) ?? Promise.reject(missing),
      create: async (_: unknown, object: KubeObject) => stored.set(object.metadata.name, object),
      apply: async (_: unknown, object: KubeObject) => applied.push(object),
    } as never
    const services = { clock: { now: () => Date.now(), setTimeout: clock.setTimeout.bind(clock) } }
    const own = configuration({
      PLATFORM_WEBHOOK_HOST: '127.0.0.1',
      PLATFORM_WEBHOOK_PORT: '0',
      PLATFORM_WEBHOOK_OWN_AUTHORITY: 'true',
    })
    type Announced = { webhooks: { clientConfig: { caBundle: string; service: { path: string } } }[] }
    let running: Webhooks | undefined
    let announced: Announced['webhooks'][number]['clientConfig']

    before(async () => {
      stored.set(WEBHOOK_CONFIGURATION, {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: WEBHOOK_CONFIGURATION },
      })
      running = await runWebhooks(own, { ...(options as object), services, client } as never)
      await until('the authority is announced', async () => applied.length > 0)
      const [webhook] = (applied[0] as unknown as Announced).webhooks
      if (webhook === undefined) throw new Error('Nothing was announced.')
      announced = webhook.clientConfig
    })
    after(() => running?.stop())

    async function ask(path: string, name = WEBHOOK_SERVER_NAME) {
      const ca = Buffer.from(announced.caBundle, 'base64').toString()
      const agent = new Agent({ connect: { ca, servername: name } })
      try {
        const url = `https://127.0.0.1:${running?.port}${path}`
        const { statusCode, body } = await request(url, { method: 'POST', body: review, dispatcher: agent })
        await body.dump()
        return statusCode
      } finally {
        await agent.destroy()
      }
    }

    it('serve the announced path with a certificate of that authority', async () => {
      // The body is not an AdmissionReview.
      expect(await ask(announced.service.path)).to.equal(400)
      expect(await refusal(ask(announced.service.path, 'another.example.com'))).to.equal('refused')
    })

    it('return 404 for other paths, including /authorize', async () => {
      for (const path of ['/admit', '/authorize', `${announced.service.path}0`, '/admit/']) {
        expect(await ask(path), path).to.equal(404)
      }
    })

    it('share the authority between replicas', async () => {
      const again = await openOwnAuthority(client, new Date())
      expect(again.path).to.equal(announced.service.path)
    })

    it('follow another replica to a replaced authority', async () => {
      const before = announced
      stored.delete('freehold-webhook-authority')
      const another = await openOwnAuthority(client, new Date())
      applied.length = 0
      await clock.advance(60_000)
      await until('the authority is announced', async () => applied.length > 0)
      announced = (applied[0] as unknown as Announced).webhooks[0]?.clientConfig ?? before
      expect(announced.service.path).to.equal(another.path).and.not.equal(before.service.path)
      expect(await ask(announced.service.path)).to.equal(400)
      expect(await ask(before.service.path)).to.equal(404)
    })
  })
})
