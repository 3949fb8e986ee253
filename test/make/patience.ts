import { setTimeout as delay } from 'node:timers/promises'

/** How often a request is repeated if the answer says to retry. */
const TIMES = 5
/** Milliseconds, if the answer does not say how long to wait. */
const PAUSE = 500

/**
 * Retries if the server was too busy, as on a loaded machine; nothing has been done then.
 *
 * @param pauseAfter milliseconds to wait after an answer that says to retry; undefined for any other
 * @returns the last answer
 */
export async function patiently<Answer>(
  ask: () => Promise<Answer>,
  pauseAfter: (answer: Answer) => number | undefined,
): Promise<Answer> {
  for (let time = 1; ; time += 1) {
    const answer = await ask()
    const pause = pauseAfter(answer)
    if (pause === undefined || time === TIMES) return answer
    await delay(pause)
  }
}

/** An answer of the facade, or of its identity provider. */
export type HttpReply = { status: number; headers: Headers; text: string }

/** One request with its whole answer. */
export async function replyTo(asking: Promise<Response>): Promise<HttpReply> {
  const answer = await asking
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

/** From a limit, a busy platform, or a slow API server. Refusals by a rule have no Retry-After. */
export function pauseAfterAnswer({ status, headers, text }: HttpReply): number | undefined {
  const isBusy = status === 503 && /"(code|error)":"(service.|temporarily_)unavailable"/i.test(text)
  const seconds = headers.get('retry-after')
  if (status === 429) return Number(seconds ?? 1) * 1000
  return isBusy && seconds !== null ? Number(seconds) * 1000 : undefined
}

/**
 * If the authorizer or a webhook takes longer than the API server waits, a caller gets a 500; if its store does, a 503
 * or a 504; and a 429 if a webhook has a queue.
 */
export function pauseAfterStatus(status: number): number | undefined {
  return [429, 500, 503, 504].includes(status) ? PAUSE : undefined
}

/** The same in kubectl's output, also if a policy asked the authorizer. */
export function pauseAfterWords(words: string): number | undefined {
  const isLate =
    /from server \((InternalError|ServiceUnavailable|Timeout|ServerTimeout|TooManyRequests)\)|deadline exceeded/.test(
      words,
    )
  return isLate ? PAUSE : undefined
}
