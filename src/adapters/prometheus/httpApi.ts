import { request } from 'undici'
import { z } from 'zod'
import { readWithin } from '../../core/readWithin.ts'

/** Bytes; 1,500 points of a hundred counters take a third of it. */
const ANSWER_MAX_BYTES = 16 * 1024 * 1024

/** A time in seconds and a number as text. */
export const Sample = z.tuple([z.number(), z.string()])

/** The relevant part of an answer: each series with its samples, from an instant or a range query. */
export function seriesAnswerSchema<Labels extends z.ZodType>(labels: Labels) {
  const series = z.object({
    metric: labels,
    values: z.array(Sample).default([]),
    value: Sample.transform((one) => [one]).default([]),
  })
  return z.object({ data: z.object({ result: z.array(series) }) })
}

/**
 * Queries the HTTP API of Prometheus, version 1.
 *
 * @param url for example http://prometheus:9090
 * @throws Error without any text of the answer
 */
export async function queryPrometheus<Schema extends z.ZodType>(
  url: string,
  path: 'query' | 'query_range',
  question: Record<string, string>,
  { answer, signal }: { answer: Schema; signal: AbortSignal },
): Promise<z.output<Schema>> {
  const form = new URLSearchParams(question)
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const base = url.replace(/\/$/, '')
  const response = await request(`${base}/api/v1/${path}`, { method: 'POST', headers, body: form.toString(), signal })
  const text = await readWithin(
    ANSWER_MAX_BYTES,
    response.body,
    () => new Error('Prometheus answered with more than was requested.'),
  )
  if (response.statusCode !== 200) throw new Error(`Prometheus answered ${response.statusCode}.`)
  return answer.parse(JSON.parse(text.toString('utf8')))
}
