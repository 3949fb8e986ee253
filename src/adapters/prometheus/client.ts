import { z } from 'zod'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { queryPrometheus, seriesAnswerSchema } from './httpApi.ts'
import { COUNTER_KINDS, type Counter, computeIncrements, stepBoundaries } from './increments.ts'
import type { CountedRequests, RequestFigures, Steps } from './port.ts'
import { trafficQuery } from './traefik.ts'

export type PrometheusOptions = {
  /** For example http://prometheus:9090. */
  url: string
  log: Pick<Log, 'debug'>
  /** Milliseconds for all queries of one call; 5 s. */
  timeout?: number
}

const Labels = z.object({
  what: z.enum(COUNTER_KINDS),
  instance: z.string().default(''),
  code: z.string().optional(),
  le: z.string().optional(),
})
const Answer = seriesAnswerSchema(Labels)
type FoundSeries = z.output<typeof Answer>['data']['result']

/** Reads the request counters of the Gateway's Traefik from Prometheus (HTTP API of Prometheus, version 1). */
export function createRequestFigures({ url, log, timeout = 5_000 }: PrometheusOptions): RequestFigures {
  const ask = async (path: 'query' | 'query_range', question: Record<string, string>, signal: AbortSignal) =>
    (await queryPrometheus(url, path, question, { answer: Answer, signal })).data.result

  return {
    async of(routed, steps): Promise<CountedRequests | undefined> {
      const query = trafficQuery(routed)
      const [start, step] = [String(steps.from), String(steps.stepSeconds)]
      const end = lastWholeStep(steps)
      try {
        const signal = AbortSignal.timeout(timeout)
        // The steps of a range query are equally long; a shorter last step needs its own query.
        const found = await Promise.all([
          ask('query_range', { query, start, end: String(end), step }, signal),
          ...(end === steps.to ? [] : [ask('query', { query, time: String(steps.to) }, signal)]),
        ])
        return computeIncrements(countersOf(found.flat()), stepBoundaries(steps))
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'Prometheus did not report the counts of the Gateway.')
        return undefined
      }
    },
  }
}

const lastWholeStep = ({ from, to, stepSeconds }: Steps) => from + Math.floor((to - from) / stepSeconds) * stepSeconds

/** Merges the samples of both queries by their labels. */
function countersOf(found: FoundSeries): Counter[] {
  const counters = new Map<string, Counter & { values: Map<number, number> }>()
  for (const { metric, values, value } of found) {
    const { what, instance, code, le } = metric
    const of = code ?? le ?? ''
    const key = JSON.stringify([what, instance, of])
    const counter = counters.get(key) ?? { what, instance, of, values: new Map() }
    counters.set(key, counter)
    for (const [time, text] of [...values, ...value])
      if (Number.isFinite(Number(text))) counter.values.set(time, Number(text))
  }
  return [...counters.values()]
}
