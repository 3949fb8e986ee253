import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { until } from '../../test/make/until.ts'
import { identityOf } from '../controlplane/identity.ts'
import { kubeconfigOf } from '../controlplane/kubeconfig.ts'
import { silentProgress } from '../controlplane/progress.ts'
import { parseUpArguments } from './arguments.ts'
import { supervise } from './supervise.ts'

/** A Go whose builds never finish. */
const GO = '#!/bin/sh\nif [ "$1" = env ]; then echo go1.99.0; exit; fi\necho $$ >> "$BUILDS"\nexec sleep 600\n'

describe('supervise', () => {
  const { PATH, XDG_CACHE_HOME } = process.env
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-supervise-'))
    await writeFile(join(folder, 'go'), GO)
    await chmod(join(folder, 'go'), 0o755)
    Object.assign(process.env, {
      PATH: `${folder}${delimiter}${PATH}`,
      XDG_CACHE_HOME: join(folder, 'cache'),
      BUILDS: join(folder, 'builds'),
    })
  })
  afterEach(async () => {
    Object.assign(process.env, { PATH, XDG_CACHE_HOME })
    if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME
    delete process.env.BUILDS
    await rm(folder, { recursive: true, force: true })
  })
  const builds = () => {
    const path = join(folder, 'builds')
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').map(Number) : []
  }

  /** For a platform on the simulated API server. */
  const optionsAt = async (server: Server) => {
    await until('the server listens', () => server.listening)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const kubeconfig = join(folder, 'kubeconfig')
    await writeFile(kubeconfig, dump(kubeconfigOf(url, '', [{ name: 'x', user: { token: 'x' } }])))
    return parseUpArguments(['--kubeconfig', kubeconfig, '--data', join(folder, 'data')])
  }

  it('ends running builds when the start fails', async () => {
    const server = createServer(async (_, response) => {
      await until('something is built', () => builds().length > 0)
      response.writeHead(500).end()
    }).listen(0, '127.0.0.1')
    const options = await optionsAt(server)
    const supervision = { progress: silentProgress, signal: new AbortController().signal, onReady: () => undefined }
    const error = await supervise(options, supervision).catch(({ message }: Error) => message)
    server.close()
    try {
      expect(error).to.contain('it answered 500')
      await until('nothing is built', () => builds().every((pid) => identityOf(pid) === undefined))
    } finally {
      for (const pid of builds()) if (identityOf(pid) !== undefined) process.kill(pid, 'SIGKILL')
    }
  })

  it('returns at once when interrupted, without waiting for a response', async () => {
    const stop = new AbortController()
    const over = Promise.withResolvers<void>()
    let isGivenUp = false
    const server = createServer(async ({ url }, response) => {
      if (url === '/version') return void response.end(JSON.stringify({ gitVersion: 'v1.36.0' }))
      response.on('close', () => {
        isGivenUp = true
      })
      stop.abort()
      await over.promise
      response.writeHead(500).end()
    }).listen(0, '127.0.0.1')
    const options = await optionsAt(server)
    try {
      await supervise(options, { progress: silentProgress, signal: stop.signal, onReady: () => undefined })
      expect(isGivenUp).to.equal(false)
    } finally {
      over.resolve()
      server.close()
    }
  })
})
