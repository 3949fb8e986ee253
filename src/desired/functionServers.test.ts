import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { folderOnPath, unpackDebianOrSkip } from '../../test/cluster/debian.ts'
import { until } from '../../test/make/until.ts'
import { FUNCTION_RUNTIMES, type FunctionRuntime } from '../contracts/functions.ts'

const SERVERS = join(import.meta.dirname, 'functionServers')

/**
 * A source whose `echo` answers 201 with what it was asked as `METHOD path event body`, and fails for /fail; for /slow it
 * says on its log that it has begun, and takes half a second. `named` is another handler beside it, which answers `named`.
 */
type Source = { files: Record<string, string>; echo: string; named: string }
const SOURCES: Partial<Record<FunctionRuntime, Source>> = {
  nodejs: {
    echo: 'index',
    named: 'index.named',
    files: {
      'index.mjs': `
export default async (request) => {
  const { pathname } = new URL(request.url)
  if (pathname === '/fail') throw new Error('a secret of the code')
  if (pathname === '/slow') console.error('slow has begun')
  if (pathname === '/slow') await new Promise((done) => setTimeout(done, 500))
  const words = [request.method, pathname, request.headers.get('x-function-event'), await request.text()]
  return new Response(words.join(' '), { status: 201 })
}
export const named = () => new Response('named')
`,
    },
  },
  python: {
    echo: 'main',
    named: 'main.named',
    files: {
      'main.py': `
import sys, time
def app(environ, start_response):
    if environ['PATH_INFO'] == '/fail':
        raise ValueError('a secret of the code')
    if environ['PATH_INFO'] == '/slow':
        print('slow has begun', file=sys.stderr, flush=True)
        time.sleep(0.5)
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
    start_response("201 Created", [("content-type", "text/plain")])
    return [f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']} {environ.get('HTTP_X_FUNCTION_EVENT')} {body}".encode()]
def named(environ, start_response):
    start_response("200 OK", [])
    return [b"named"]
`,
    },
  },
  go: {
    echo: 'handler',
    named: 'inner/other.Named',
    files: {
      'handler.go': `
package shop

import (
	"fmt"
	"io"
	web "net/http"
	"time"
)

func Handle(writer web.ResponseWriter, request *web.Request) {
	if request.URL.Path == "/fail" {
		panic("a secret of the code")
	}
	if request.URL.Path == "/slow" {
		println("slow has begun")
		time.Sleep(500 * time.Millisecond)
	}
	body, _ := io.ReadAll(request.Body)
	writer.WriteHeader(201)
	fmt.Fprintf(writer, "%s %s %s %s", request.Method, request.URL.Path, request.Header.Get("x-function-event"), body)
}

func Other(words, more string) {}
`,
      'handler_test.go': 'package shop\n',
      'inner/other.go': `
package inner

import "net/http"

func Named(writer http.ResponseWriter, _ *http.Request) { writer.Write([]byte("named")) }
`,
      'cmd/tool/main.go': 'package main\n\nfunc main() {}\n',
    },
  },
  java: {
    echo: 'shop.Echo',
    named: 'shop.Echo.named',
    files: {
      'src/main/java/shop/Echo.java': `
package shop;
import com.sun.net.httpserver.*;
import java.io.IOException;
public class Echo implements HttpHandler {
  public void handle(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    if (path.equals("/fail")) throw new IllegalStateException("a secret of the code");
    if (path.equals("/slow")) System.err.println("slow has begun");
    if (path.equals("/slow")) try { Thread.sleep(500); } catch (InterruptedException e) { throw new IOException(e); }
    String event = exchange.getRequestHeaders().getFirst("x-function-event");
    String body = new String(exchange.getRequestBody().readAllBytes());
    say(exchange, 201, exchange.getRequestMethod() + " " + path + " " + event + " " + body);
  }
  public static void named(HttpExchange exchange) throws IOException { say(exchange, 200, "named"); }
  static void say(HttpExchange exchange, int status, String text) throws IOException {
    exchange.sendResponseHeaders(status, text.length());
    exchange.getResponseBody().write(text.getBytes());
  }
}
`,
    },
  },
  php: {
    echo: 'index',
    named: 'index.named',
    files: {
      'index.php': `<?php
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path === '/fail') throw new Exception('a secret of the code');
if ($path === '/slow') { error_log('slow has begun'); usleep(500000); }
if ($path !== '/named') {
  http_response_code(201);
  echo implode(' ', [$_SERVER['REQUEST_METHOD'], $path, $_SERVER['HTTP_X_FUNCTION_EVENT'] ?? '', file_get_contents('php://input')]);
}
function named() { echo 'named'; }
`,
    },
  },
}

/** What PHP 8.2 of Debian needs beside the base system. */
const PHP = [
  ...['php8.2-cli', 'libargon2-1', 'libedit2', 'libicu72', 'libpcre2-8-0', 'libsodium23', 'libssl3', 'libxml2'],
  ...['libbsd0', 'libmd0'],
]

type Tools = { path: string; libraries?: string }

/** The programs of the runtime's images. Skips the test if this machine has none. */
async function toolsOf(runtime: FunctionRuntime, context: Mocha.Context): Promise<Tools> {
  const paths = process.env.PATH ?? ''
  if (runtime === 'nodejs') return { path: `${dirname(process.execPath)}:${paths}` }
  if (runtime === 'php') {
    const root = await unpackDebianOrSkip('php', PHP, context)
    const bin = join(root, 'usr/bin')
    if (!existsSync(join(bin, 'php'))) cpSync(join(bin, 'php8.2'), join(bin, 'php'))
    return {
      path: `${bin}:${paths}`,
      libraries: join(root, `usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`),
    }
  }
  const program = { python: 'python3', go: 'go', java: 'javac', dotnet: 'dotnet' }[runtime]
  if (folderOnPath(program) === undefined) {
    console.log(`    skipped: ${program} is not installed`)
    context.skip()
  }
  return { path: paths }
}

describe('servers of functions', () => {
  const folder = mkdtempSync(join(tmpdir(), 'freehold-functions-'))
  const running: ChildProcess[] = []
  after(() => {
    for (const { pid } of running) {
      try {
        process.kill(-(pid ?? 0), 'SIGKILL')
      } catch {
        // It has ended.
      }
    }
    rmSync(folder, { recursive: true })
  })

  /** The folder as in the image: source and server, built. */
  function build(
    runtime: FunctionRuntime,
    { files }: Source,
    { path, libraries = '' }: Tools,
  ): { app: string; environment: NodeJS.ProcessEnv } {
    const app = mkdtempSync(join(folder, `${runtime}-`))
    const { server } = FUNCTION_RUNTIMES[runtime]
    const put = (to: string, write: (place: string) => void) => {
      mkdirSync(dirname(join(app, to)), { recursive: true })
      write(join(app, to))
    }
    for (const [to, text] of Object.entries(files)) put(to, (place) => writeFileSync(place, text))
    for (const [to, from] of Object.entries(server?.files ?? {})) put(to, (place) => cpSync(join(SERVERS, from), place))
    const environment = {
      ...process.env,
      PATH: path,
      LD_LIBRARY_PATH: libraries,
      CGO_ENABLED: '0',
      GOFLAGS: '',
      GOPROXY: 'off',
    }
    const run = (command: string) => execFileSync('sh', ['-c', command], { cwd: app, env: environment, stdio: 'pipe' })
    if (runtime === 'go') run('go mod init source')
    // The output folders of recipes are those of an image; here they are in the folder.
    const out = join(app, 'out')
    if (server?.build !== undefined) run(server.build.replaceAll('/out/', `${out}/`))
    if (runtime === 'java') put('out/app.jar', (place) => cpSync(join(app, 'build/libs/function.jar'), place))
    return { app, environment }
  }

  async function start(runtime: FunctionRuntime, built: ReturnType<typeof build>, handler: string) {
    // A port that the kernel gives to no connection while the program starts.
    const { port } = await choosePorts(mkdtempSync(join(folder, 'port-')), ['port'])
    const command = (FUNCTION_RUNTIMES[runtime].server?.start ?? '').replaceAll('/app/', `${built.app}/out/`)
    const environment = { ...built.environment, PORT: String(port), FUNCTION_HANDLER: handler }
    // A process group of its own, as in its container.
    const stdio: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe']
    const child = spawn('sh', ['-c', command], { cwd: built.app, env: environment, stdio, detached: true })
    running.push(child)
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk
    })
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    const ask = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}${path}`, init)
    return { child, ended, ask, said: () => said }
  }

  const serves = async ({ ask, child, said }: Awaited<ReturnType<typeof start>>) =>
    until('it serves', async () => {
      if (child.exitCode !== null) throw new Error(`It has ended: ${said()}`)
      return ask('/up').catch(() => undefined)
    })

  const timer = { method: 'POST', headers: { 'x-function-event': 'timer' }, body: '{"trigger":"tick"}' }

  for (const [runtime, source] of Object.entries(SOURCES) as [FunctionRuntime, Source][]) {
    it(`call a handler in ${runtime}, hide its errors from callers and finish calls on SIGTERM`, async function () {
      const built = build(runtime, source, await toolsOf(runtime, this))
      const server = await start(runtime, built, source.echo)
      await serves(server)
      const answer = await server.ask('/deep/er', timer)
      expect([answer.status, await answer.text()]).to.deep.equal([201, 'POST /deep/er timer {"trigger":"tick"}'])
      const failed = await server.ask('/fail')
      expect([failed.status, await failed.json()]).to.deep.equal([
        500,
        { error: 'The function failed.', code: 'FUNCTION_FAILED' },
      ])
      await until('its log tells why', async () => server.said().includes('a secret of the code'))
      const slow = server.ask('/slow', timer)
      await until('the call is under way', async () => server.said().includes('slow has begun'))
      process.kill(server.child.pid ?? 0, 'SIGTERM')
      expect((await slow).status).to.equal(201)
      await server.ended
      const named = await start(runtime, built, source.named)
      await serves(named)
      expect(await (await named.ask('/named')).text()).to.equal('named')
      const lacking = await start(runtime, built, 'nothing.here')
      expect(await lacking.ended).to.not.equal(0)
      // Its output may arrive after its exit.
      await until('its log tells why', () => lacking.said().includes('The source has no'))
    })
  }

  it('cancel the response stream in nodejs when the client disconnects', async function () {
    const files = {
      'index.mjs': `
const piece = new Uint8Array(65_536)
const pull = (controller) => controller.enqueue(piece)
const cancel = () => console.error('the answer was let go')
export default (request) =>
  new Response(new URL(request.url).pathname === '/endless' ? new ReadableStream({ pull, cancel }) : 'up')
`,
    }
    const tools = await toolsOf('nodejs', this)
    const server = await start('nodejs', build('nodejs', { files, echo: 'index', named: 'index' }, tools), 'index')
    await serves(server)
    const gone = new AbortController()
    const answer = await server.ask('/endless', { signal: gone.signal })
    await answer.body?.getReader().read()
    gone.abort()
    await until('the function hears of it', () => server.said().includes('the answer was let go'))
    expect(server.said()).to.not.include('Error')
  })
})
