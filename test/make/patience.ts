import { setTimeout as delay } from 'node:timers/promises'

/** How often the same is asked for, where each answer was to ask again. */
const TIMES = 5
/** Milliseconds, where nothing says how long to wait. */
const PAUSE = 500

/**
 * Asks again where whoever was asked had no time, as on a machine with too much to do: nothing has been done then.
 *
 * @param pauseAfter milliseconds to wait after an answer that tells to ask again; undefined for any other
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
export type Heard = { status: number; headers: Headers; text: string }

/** One request with its whole answer. */
export async function heard(asking: Promise<Response>): Promise<Heard> {
  const answer = await asking
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

/** Of a limit, of a platform that is busy, and of an API server that is late. No refusal by a rule says when to come again. */
export function pauseAfterAnswer({ status, headers, text }: Heard): number | undefined {
  const isBusy = status === 503 && /"(code|error)":"(service.|temporarily_)unavailable"/i.test(text)
  const seconds = headers.get('retry-after')
  if (status === 429) return Number(seconds ?? 1) * 1000
  return isBusy && seconds !== null ? Number(seconds) * 1000 : undefined
}

/**
 * Where the authorizer or a webhook takes longer than the API server waits for it, a caller gets a 500; where it waits for
 * its store itself, a 503 or a 504; and a 429 where a webhook has others to judge first.
 */
export function pauseAfterStatus(status: number): number | undefined {
  return [429, 500, 503, 504].includes(status) ? PAUSE : undefined
}

/** The same in the words of kubectl, also where it was a policy that asked the authorizer. */
export function pauseAfterWords(words: string): number | undefined {
  const isLate =
    /from server \((InternalError|ServiceUnavailable|Timeout|ServerTimeout|TooManyRequests)\)|deadline exceeded/.test(
      words,
    )
  return isLate ? PAUSE : undefined
}
