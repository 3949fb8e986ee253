import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'chai'
import { TEST_CONFIG } from '../config.ts'
import { WITHIN } from '../make/ownProcess.ts'
import { testPlatform } from '../worlds/tenant.ts'

const MAIN = join(import.meta.dirname, '../../src/main.ts')

describe('main.ts --check', () => {
  const { kubeconfig, certificateAuthority, tokenUrl, registry, store } = testPlatform()
  let issuer: string
  before(async () => {
    const found = await fetch(`${tokenUrl.replace(/\/protocol\/.*$/, '')}/.well-known/openid-configuration`)
    issuer = ((await found.json()) as { issuer: string }).issuer
  })
  const sound = () => ({
    PLATFORM_ROLE: 'facade',
    PLATFORM_KUBECONFIG: kubeconfig,
    PLATFORM_ISSUER: issuer,
    PLATFORM_ISSUER_CERTIFICATE_AUTHORITY: certificateAuthority,
  })
  const check = (settings: Record<string, string>) =>
    new Promise<{ code: number; out: string; lines: Map<string, string> }>((resolve) => {
      const env = { PATH: process.env.PATH ?? '', ...TEST_CONFIG.compiled, ...settings }
      execFile(process.execPath, [MAIN, '--check'], { ...WITHIN, env }, (error, stdout, stderr) => {
        const rows = stdout.split('\n').flatMap((line) => {
          const [, verdict, name] = /^(ok|off|fault) +(.+?) {2,}/.exec(line) ?? []
          return verdict === undefined || name === undefined ? [] : [[name, verdict] as const]
        })
        resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr, lines: new Map(rows) })
      })
    })

  it('reports no fault for a sound installation, and lists optional parts as off', async () => {
    const optional = {
      ...(registry !== undefined && {
        PLATFORM_REGISTRY_URL: registry.url,
        PLATFORM_REGISTRY_AUDIT_FOLDER: registry.auditFolder,
      }),
      ...(store !== undefined && {
        PLATFORM_OBJECT_STORE_DRIVER: 'versitygw',
        PLATFORM_OBJECT_STORE_ENDPOINT: store.endpoint,
        PLATFORM_OBJECT_STORE_USERS_ENDPOINT: store.usersEndpoint,
        PLATFORM_OBJECT_STORE_ACCESS_KEY_ID: store.accessKeyId,
        PLATFORM_OBJECT_STORE_SECRET_ACCESS_KEY: store.secretAccessKey,
      }),
    }
    const { code, out, lines } = await check({ ...sound(), ...optional })
    // Other tests create keys at the same store, whose users have no record for a moment.
    const wrong = out.includes('the platform has no record of') ? ['Object store'] : []
    expect(
      lines
        .entries()
        .filter(([, verdict]) => verdict === 'fault')
        .map(([name]) => name)
        .toArray(),
      out,
    ).to.deep.equal(wrong)
    expect(lines.get('Policies'), out).to.equal('ok')
    expect(code, out).to.equal(wrong.length)
    for (const name of ['API server', 'Clock', 'Kinds', 'Webhook', 'Identity', 'First Owner'])
      expect(lines.get(name), out).to.equal('ok')
    expect(lines.get('Mail')).to.equal('off')
    if (registry !== undefined) expect(lines.get('Registry'), out).to.equal('ok')
    if (store !== undefined && wrong.length === 0) expect(lines.get('Object store'), out).to.equal('ok')
  })

  it('reports each fault with what to do, without passwords', async () => {
    const { code, out, lines } = await check({
      ...sound(),
      PLATFORM_ISSUER: `${issuer}-of-others`,
      PLATFORM_REGISTRY_URL: 'http://127.0.0.1:9',
      PLATFORM_SMTP_URL: 'smtp://user:hunter2@127.0.0.1:9',
      PLATFORM_PROMETHEUS_URL: 'http://127.0.0.1:9',
    })
    expect(code).to.equal(1)
    for (const name of ['Identity', 'Registry', 'Mail', 'Prometheus']) expect(lines.get(name), out).to.equal('fault')
    expect(lines.get('API server')).to.equal('ok')
    expect(out).to.contain('Correct issuer').and.not.contain('hunter2')
  })

  it('names a setting that is not valid, without the usage of the program', async () => {
    const { code, out } = await check({ ...sound(), PLATFORM_WORKERS_PER_CONTROLLER: 'many' })
    expect(code).to.equal(78)
    expect(out).to.contain('PLATFORM_WORKERS_PER_CONTROLLER').and.contain('configuration.md').and.not.contain('Usage')
  })
})
