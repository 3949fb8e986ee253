import { spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { commandLine } from '../../test/make/commandLine.ts'
import { WITHIN } from '../../test/make/ownProcess.ts'
import { browse, startIssuer, type TestIssuer } from '../../test/worlds/issuer.ts'
import type { Terminal } from './command.ts'
import { clientPathsFor } from './files.ts'
import { run } from './run.ts'
import { loginStore } from './storedLogin.ts'

const FREEHOLD = resolve(import.meta.dirname, '../../bin/freehold.mjs')

describe('freehold login, logout and token', () => {
  let issuer: TestIssuer
  let home: string
  let said: string
  let shown: string
  /** The steps of the person in the browser, and the last page. */
  let browsing: Promise<string> | undefined

  beforeEach(async () => {
    issuer = await startIssuer()
    home = await mkdtemp(join(tmpdir(), 'freehold-sign-in-'))
    browsing = undefined
    expect(await freehold(['setup', '--facade-url', 'http://127.0.0.1:1', '--issuer', issuer.url])).to.equal(0)
  })
  afterEach(async () => {
    await issuer.stop()
    await rm(home, { recursive: true })
  })

  async function freehold(words: string[], more: Partial<Terminal> = {}): Promise<number> {
    ;[said, shown] = ['', '']
    const terminal = {
      out: (text: string) => {
        shown += text
      },
      err: (text: string) => {
        said += text
      },
      ...more,
    }
    return run(words, commandLine(home, { terminal }))
  }
  const withBrowser = (fields: Record<string, string> = { login: 'alice', password: 'x' }) => ({
    openBrowser: (url: string) => {
      browsing = browse(url, fields)
    },
  })
  const store = () => loginStore(clientPathsFor({}, home).login)

  it('sign in with a browser, store the login with mode 600 and print no token', async () => {
    expect(await freehold(['login'], withBrowser()), said).to.equal(0)
    expect(await browsing).to.match(/<html lang="en">[\s\S]*<main>[\s\S]*<h1>You are signed in<\/h1>/)
    const login = await store().read()
    expect(login).to.include({ issuer: issuer.url, clientId: 'freehold-cli' })
    expect(login?.refreshToken).to.be.a('string')
    expect((await stat(store().path)).mode & 0o777).to.equal(0o600)
    expect(issuer.grants).to.deep.equal(['authorization_code'])
    expect(said + shown)
      .to.not.include(login?.accessToken)
      .and.to.not.include(login?.refreshToken)
    expect(await freehold(['token'])).to.equal(0)
    expect(shown).to.equal(`${login?.accessToken}\n`)
  })

  it('reject a redirect with another state with 404', async () => {
    let stranger: Promise<number> | undefined
    const terminal = {
      openBrowser: (url: string) => {
        const redirect = new URL(new URL(url).searchParams.get('redirect_uri') ?? '')
        redirect.search = '?code=stolen&state=guessed'
        stranger = fetch(redirect).then((answer) => answer.status)
        browsing = stranger.then(() => browse(url, { login: 'alice', password: 'x' }))
      },
    }
    expect(await freehold(['login'], terminal), said).to.equal(0)
    expect(await stranger).to.equal(404)
  })

  it('report that the person denied access', async () => {
    const terminal = {
      openBrowser: (url: string) => {
        const asked = new URL(url).searchParams
        const redirect = new URL(asked.get('redirect_uri') ?? '')
        redirect.search = `?error=access_denied&state=${asked.get('state')}&iss=${encodeURIComponent(issuer.url)}`
        browsing = fetch(redirect).then((answer) => answer.text())
      },
    }
    expect(await freehold(['login'], terminal)).to.equal(3)
    expect(said).to.include('access_denied')
    expect(await browsing).to.include('did not succeed')
    expect(await store().read()).to.equal(undefined)
  })

  it('sign in with a device code if there is no browser', async () => {
    const err = (text: string) => {
      said += text
      const code = /enter the code (\S+)/.exec(text)?.[1]
      const page = /(http:\S+device)/.exec(text)?.[1]
      if (code && page) browsing = browse(page, { user_code: code, login: 'bob', password: 'x' })
    }
    expect(await freehold(['login'], { err }), said).to.equal(0)
    await browsing
    expect(issuer.grants).to.deep.equal(['urn:ietf:params:oauth:grant-type:device_code'])
    expect((await store().read())?.accessToken).to.be.a('string')
  })

  it('refresh the login once for three concurrent processes', async () => {
    expect(await freehold(['login'], withBrowser()), said).to.equal(0)
    const login = (await store().read()) ?? expect.fail()
    await store().write({ ...login, expiresAt: Date.now() - 1 })
    const ended = await Promise.all([1, 2, 3].map(() => token(home)))
    expect(new Set(ended).size, JSON.stringify(ended)).to.equal(1)
    expect(ended[0]).to.not.equal(`${login.accessToken}\n`)
    expect(issuer.grants).to.deep.equal(['authorization_code', 'refresh_token'])
    expect((await stat(store().path)).mode & 0o777).to.equal(0o600)
  })

  it('revoke the refresh token at the provider on logout', async () => {
    expect(await freehold(['login'], withBrowser()), said).to.equal(0)
    const login = (await store().read()) ?? expect.fail()
    expect(await freehold(['logout'])).to.equal(0)
    expect(said).to.equal('Signed out.\n')
    expect(await store().read()).to.equal(undefined)
    // A copy of the stored login is useless as well.
    await store().write({ ...login, expiresAt: 0 })
    expect(await freehold(['token'])).to.equal(3)
    expect(said).to.include('invalid_grant')
    expect(await freehold(['logout'])).to.equal(0)
  })

  it('reject a login file that others can read, and remove it on logout', async () => {
    expect(await freehold(['login'], withBrowser()), said).to.equal(0)
    await chmod(store().path, 0o644)
    expect(await freehold(['token'])).to.equal(5)
    expect(said).to.include('readable by others')
    expect(shown).to.equal('')
    expect(await freehold(['logout'])).to.equal(0)
    expect(await store().read()).to.equal(undefined)
  })

  it('fail with exit code 4 if the issuer does not answer', async () => {
    await issuer.stop()
    expect(await freehold(['login'], withBrowser())).to.equal(4)
    expect(said).to.match(/No answer from http:\/\/127/)
  })
})

/** The output of `freehold token` in a process of its own. */
function token(home: string): Promise<string> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [FREEHOLD, 'token'], {
      ...WITHIN,
      env: { HOME: home, PATH: process.env.PATH },
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (part) => {
        text += part
      })
    }
    child.on('error', fail)
    child.on('close', () => done(text))
  })
}
