import { readFileSync } from 'node:fs'
import { Agent, request } from 'undici'
import { testPlatform } from '../worlds/tenant.ts'

export type HostAnswer = { status: number; text: string }

/** Requests a public host like a client of the Gateway: names below localhost resolve to this machine. */
export class PublicHosts {
  readonly #agent: Agent
  readonly #ports: { gatewayHttp: number; gatewayHttps: number }

  constructor() {
    const { gateway, certificateAuthority } = testPlatform()
    if (gateway === undefined) throw new Error('The platform of these tests has no Gateway: run `npm run test:node`.')
    this.#ports = gateway
    this.#agent = new Agent({
      connect: {
        ca: readFileSync(certificateAuthority, 'utf8'),
        lookup: (_name, options, found) =>
          options.all === true ? found(null, [{ address: '127.0.0.1', family: 4 }]) : found(null, '127.0.0.1', 4),
      },
    })
  }

  /** The URL of a host without its port, such as `https://shop.example.test/page`: the port is that of the Gateway. */
  async get(url: string): Promise<HostAnswer> {
    const target = new URL(url)
    target.port = String(target.protocol === 'http:' ? this.#ports.gatewayHttp : this.#ports.gatewayHttps)
    const { statusCode, body } = await request(target, { dispatcher: this.#agent })
    return { status: statusCode, text: await body.text() }
  }

  close(): Promise<void> {
    return this.#agent.close()
  }
}
