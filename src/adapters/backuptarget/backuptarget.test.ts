import { mkdtemp, rm } from 'node:fs/promises'
import { createServer as createHttp, type RequestListener, type Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Authority } from '../../../scripts/controlplane/pki.ts'
import { backupTargetContract } from '../../../test/suites/backupTargetContract.ts'
import { createBackupTargets, type TargetOptions } from './client.ts'
import { FakeBackupTargets } from './fake.ts'
import type { TargetAccess } from './port.ts'

const ACCESS = {
  bucket: 'backups',
  region: 'us-east-1',
  forcePathStyle: true,
  ...{ accessKeyId: 'id', secretAccessKey: 'secret' },
}

describe('FakeBackupTargets', () => {
  backupTargetContract(() => {
    const targets = new FakeBackupTargets()
    targets.buckets.set('closed', false)
    return { targets, good: { ...ACCESS, endpoint: targets.endpoint }, missing: 'nothing', forbidden: 'closed' }
  })
})

/** Faulty stores, which no real one can imitate. */
describe('createBackupTargets', () => {
  const servers: Server[] = []
  let authority: Authority
  let folder: string
  let certificate: { cert: string; key: string }
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-target-'))
    authority = await Authority.open(folder, 'ca')
    const issued = await authority.issue({ commonName: 's', purpose: 'server', names: ['127.0.0.1'] })
    certificate = { cert: issued.certPem, key: issued.keyPem }
  })
  after(async () => {
    for (const server of servers) {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
    await rm(folder, { recursive: true, force: true })
  })

  async function listen(server: Server): Promise<number> {
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }
  const http = async (handler: RequestListener) => `http://127.0.0.1:${await listen(createHttp(handler))}`
  const answering = (status: number, body: string): RequestListener => {
    return (_, response) => void response.writeHead(status, { 'content-type': 'application/xml' }).end(body)
  }
  const test = async (endpoint: string, change: Partial<TargetAccess> = {}, options: TargetOptions = {}) =>
    createBackupTargets(options).test({ ...ACCESS, endpoint, ...change })
  const LISTED = '<?xml version="1.0"?><ListBucketResult><Name>backups</Name><KeyCount>0</KeyCount></ListBucketResult>'

  const answers: [string, number, string, string][] = [
    ['a list of the bucket', 200, LISTED, 'Ok'],
    ['HTML with status 200', 200, '<html></html>', 'Unreachable'],
    ['plain text with status 200', 200, 'hello', 'Unreachable'],
    ['SlowDown with status 503', 503, '<Error><Code>SlowDown</Code></Error>', 'Unreachable'],
    ['NoSuchBucket', 404, '<Error><Code>NoSuchBucket</Code></Error>', 'BucketMissing'],
    [
      'PermanentRedirect, as from another region',
      301,
      '<Error><Code>PermanentRedirect</Code></Error>',
      'invalid-target',
    ],
    ['InvalidAccessKeyId', 403, '<Error><Code>InvalidAccessKeyId</Code></Error>', 'AuthenticationFailed'],
    ['status 403 without a body', 403, '', 'AccessDenied'],
  ]
  for (const [title, status, body, code] of answers) {
    it(`reports ${code} for a store that answers with ${title}`, async () => {
      expect((await test(await http(answering(status, body)))).code).to.equal(code)
    })
  }

  it('reports Timeout for a store that does not answer or does not finish its answer', async () => {
    const silent = await http(() => {})
    expect((await test(silent, {}, { timeout: 100 })).code).to.equal('Timeout')
    const slow = await http((_, response) => void response.writeHead(200).write('<'))
    expect((await test(slow, {}, { timeout: 100 })).code).to.equal('Timeout')
  })

  it('stops reading an answer without an end', async () => {
    const endless = await http((_, response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    })
    expect((await test(endless)).code).to.equal('Unreachable')
  })

  it('follows no redirect', async () => {
    let called = 0
    const other = await http((_, response) => {
      called += 1
      response.end(LISTED)
    })
    const first = await http((_, response) => void response.writeHead(307, { location: other }).end())
    expect((await test(first)).code).to.equal('invalid-target')
    expect(called).to.equal(0)
  })

  it('trusts the configured certificate authority and no other', async () => {
    const endpoint = `https://127.0.0.1:${await listen(createHttps(certificate, answering(200, LISTED)) as unknown as Server)}`
    expect((await test(endpoint)).code).to.equal('TlsFailed')
    expect((await test(endpoint, { caCertificate: authority.certPem })).code).to.equal('Ok')
    expect((await test(endpoint, { caCertificate: 'no certificate' })).code).to.equal('TlsFailed')
  })

  it('reports Unreachable for a closed port and for a name that does not resolve', async () => {
    const port = await listen(createHttp(() => {}))
    await new Promise((resolve) => servers.pop()?.close(resolve))
    expect(await test(`http://127.0.0.1:${port}`)).to.deep.equal({
      code: 'Unreachable',
      message: 'Nothing listens at the endpoint: check the port.',
    })
    const none = Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
    const lookup = ((_: string, __: object, done: (error: Error) => void) => done(none)) as never
    expect(await test('https://store.test', {}, { lookup })).to.deep.equal({
      code: 'Unreachable',
      message: 'The name of the endpoint cannot be resolved.',
    })
  })

  for (const address of ['169.254.169.254', 'fd00:ec2::254', '::ffff:169.254.169.254']) {
    it(`does not connect to a name that resolves to ${address} at the time of the call`, async () => {
      const lookup = ((_: string, __: object, done: (error: null, all: object[]) => void) =>
        done(null, [{ address, family: address.includes(':') ? 6 : 4 }])) as never
      const verdict = await test('https://rebound.test', {}, { lookup })
      expect(verdict.code).to.equal('invalid-target')
    })
  }

  it('quotes neither the answer of the store nor the key in its message', async () => {
    const endpoint = await http(
      answering(403, '<Error><Code>AccessDenied</Code><Message>inner secret</Message></Error>'),
    )
    const { message } = await test(endpoint)
    expect(message).to.equal('The key may not list the bucket.')
  })
})
