import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { untilAnswers } from './readiness.ts'

describe('untilAnswers', () => {
  let folder: string
  let server: Server
  let url: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-readiness-'))
    server = createServer((_request, response) => response.writeHead(503).end('not ready: started\n'))
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/readyz`
  })
  afterEach(async () => {
    server.close()
    await rm(folder, { recursive: true })
  })

  const failure = (logFile?: string) =>
    untilAnswers(url, 100, new AbortController().signal, logFile).then(
      () => 'ready',
      (error: Error) => error.message,
    )

  it('names the last error in the log when it fails', async () => {
    const logFile = join(folder, 'freehold.log')
    const lines = [
      { level: 'warn', error: 'the reason', msg: 'Old.' },
      {
        level: 'warn',
        reason: 'Unavailable',
        msg: 'Cannot watch jobs: no answer from the API server (SELF_SIGNED_CERT_IN_CHAIN).',
      },
      { level: 'info', msg: 'Nothing of note.' },
    ]
    await writeFile(logFile, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n(node:1) Warning: of Node.js\n`)
    expect(await failure(logFile)).to.include(
      `the last answer was: 503 not ready: started. The last trouble in ${logFile}: Cannot watch jobs: no answer from the API server (SELF_SIGNED_CERT_IN_CHAIN).`,
    )
  })

  it('names the folder of the logs if the log has no error', async () => {
    const message = await failure(join(folder, 'none.log'))
    expect(message).to.match(/not ready: started\. Logs are in the folder "logs"/)
  })
})
