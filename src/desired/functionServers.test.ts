import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'

const FOLDER = join(import.meta.dirname, 'functionServers')
const ECHO = `
export default async (request) => {
  const { pathname } = new URL(request.url)
  if (pathname === '/fail') throw new Error('a secret of the code')
  const event = request.headers.get('x-function-event')
  return Response.json({ method: request.method, pathname, event, body: await request.text() }, { status: 201 })
}
export const named = () => new Response('named')
`
const APP = `
def app(environ, start_response):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
    start_response("201 Created", [("content-type", "text/plain")])
    return [f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']} {environ.get('HTTP_X_FUNCTION_EVENT')} {body}".encode()]
`

describe('the servers of functions', () => {
  const folder = mkdtempSync(join(tmpdir(), 'freehold-functions-'))
  const running: ChildProcess[] = []
  writeFileSync(join(folder, 'index.mjs'), ECHO)
  writeFileSync(join(folder, 'main.py'), APP)
  after(() => {
    for (const each of running) each.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })

  /** The URL once it serves; what it said last if it ended before. */
  async function start(
    command: string,
    server: string,
    handler: string,
  ): Promise<{ url: string; child: ChildProcess }> {
    const child = spawn(command, [join(FOLDER, server)], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', FUNCTION_HANDLER: handler },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    running.push(child)
    let last = ''
    for await (const line of createInterface({ input: child.stderr })) {
      const [, port] = /port ([0-9]+)/.exec(line) ?? []
      if (port !== undefined) return { url: `http://127.0.0.1:${port}`, child }
      last = line
    }
    throw new Error(last)
  }
  const timer = { method: 'POST', headers: { 'x-function-event': 'timer' }, body: '{"trigger":"tick"}' }

  it('give a handler of Node a Request and its Response to the caller', async () => {
    const { url, child } = await start(process.execPath, 'node.mjs', 'index')
    const answer = await fetch(`${url}/deep/er`, timer)
    expect([answer.status, await answer.json()]).to.deep.equal([
      201,
      { method: 'POST', pathname: '/deep/er', event: 'timer', body: '{"trigger":"tick"}' },
    ])
    const failed = await fetch(`${url}/fail`)
    expect([failed.status, (await failed.text()).includes('secret')]).to.deep.equal([500, false])
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    expect(await ended).to.equal(0)
  })

  it('take what a handler of Node names after a dot', async () => {
    const { url } = await start(process.execPath, 'node.mjs', 'index.named')
    expect(await (await fetch(url)).text()).to.equal('named')
  })

  it('serve an application of WSGI', async () => {
    const { url, child } = await start('python3', 'python.py', 'main.app')
    const answer = await fetch(`${url}/deep`, timer)
    expect([answer.status, await answer.text()]).to.deep.equal([201, 'POST /deep timer {"trigger":"tick"}'])
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    expect(await ended).to.equal(0)
  })

  it('say what a handler lacks', async () => {
    const lacking = await start(process.execPath, 'node.mjs', 'nothing.here').catch((error: Error) => error.message)
    expect(lacking).to.be.a('string')
  })
})
