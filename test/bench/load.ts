import { Agent, request } from 'undici'

/** One side of a comparison: where requests go and the expected answers. */
export type Arm = {
  name: string
  origin: string
  /** Asked in turn. */
  paths: readonly string[]
  headers: Record<string, string>
  ca?: string
  clientCertificate?: { cert: string; key: string }
}

/** Milliseconds, and requests per second. */
export type Figures = { p50: number; p99: number; perSecond: number; requests: number }

/** Loads an arm with so many connections, one request at a time each. @throws Error for any answer but 200 */
export async function load(arm: Arm, connections: number, milliseconds: number): Promise<Figures> {
  const agent = agentOf(arm, connections)
  const latencies: number[] = []
  const started = performance.now()
  const until = started + milliseconds
  let next = 0
  const worker = async () => {
    while (performance.now() < until) {
      const path = arm.paths[next++ % arm.paths.length] ?? '/'
      const sent = performance.now()
      const answer = await request(arm.origin + path, { dispatcher: agent, headers: arm.headers })
      await answer.body.dump()
      if (answer.statusCode !== 200) throw new Error(`${arm.name}: ${path} answered ${answer.statusCode}.`)
      latencies.push(performance.now() - sent)
    }
  }
  try {
    await Promise.all(Array.from({ length: connections }, worker))
  } finally {
    await agent.close()
  }
  const seconds = (performance.now() - started) / 1000
  return { ...percentiles(latencies), perSecond: latencies.length / seconds, requests: latencies.length }
}

/** The median and the 99th percentile of latencies; 0 if there are none. */
export function percentiles(latencies: readonly number[]): { p50: number; p99: number } {
  const sorted = [...latencies].sort((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}

/** The body of one answer, for the comparison of contents that comes before any timing. */
export async function fetchJson(arm: Arm, path: string): Promise<unknown> {
  const agent = agentOf(arm, 1)
  try {
    const answer = await request(arm.origin + path, { dispatcher: agent, headers: arm.headers })
    if (answer.statusCode !== 200)
      throw new Error(`${arm.name}: ${path} answered ${answer.statusCode}: ${await answer.body.text()}`)
    return await answer.body.json()
  } finally {
    await agent.close()
  }
}

function agentOf({ ca, clientCertificate }: Arm, connections: number): Agent {
  return new Agent({
    connections,
    pipelining: 1,
    connect: { ...(ca === undefined ? {} : { ca }), ...clientCertificate },
  })
}

export type Comparison = { p50: Ratio; p99: Ratio; perSecond: Ratio; rounds: { ours: Figures; raw: Figures }[] }
export type Ratio = { median: number; least: number; most: number }

export function ratio(values: readonly number[]): Ratio {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  return { median: round(middle), least: round(sorted[0] ?? Number.NaN), most: round(sorted.at(-1) ?? Number.NaN) }
}

const round = (value: number) => Math.round(value * 1000) / 1000

/** Both arms in turn, ours first in even rounds, so that a machine that slows down affects both. */
export async function compare(
  ours: Arm,
  raw: Arm,
  options: { connections: number; rounds: number; milliseconds: number },
): Promise<Comparison> {
  const { connections, milliseconds } = options
  await load(ours, connections, milliseconds / 5)
  await load(raw, connections, milliseconds / 5)
  const rounds: { ours: Figures; raw: Figures }[] = []
  for (let index = 0; index < options.rounds; index += 1) {
    const first = index % 2 === 0 ? ours : raw
    const a = await load(first, connections, milliseconds)
    const b = await load(first === ours ? raw : ours, connections, milliseconds)
    rounds.push(first === ours ? { ours: a, raw: b } : { ours: b, raw: a })
  }
  const of = (figure: 'p50' | 'p99' | 'perSecond') =>
    ratio(rounds.map((entry) => entry.ours[figure] / entry.raw[figure]))
  return { p50: of('p50'), p99: of('p99'), perSecond: of('perSecond'), rounds }
}
