import type { ServerResponse } from 'node:http'

/** One signal per response: a listener for each chunk of a long response would leak. */
const SIGNALS = new WeakMap<ServerResponse, AbortSignal>()

/** Aborted when the client disconnects before the answer is complete. */
export function disconnectSignalOf(response: ServerResponse): AbortSignal {
  const known = SIGNALS.get(response)
  if (known !== undefined) return known
  const controller = new AbortController()
  const onClose = () => {
    if (!response.writableFinished) controller.abort(new Error('The client has disconnected.'))
  }
  if (response.closed) onClose()
  else response.once('close', onClose)
  SIGNALS.set(response, controller.signal)
  return controller.signal
}
