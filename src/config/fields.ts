import { isIP } from 'node:net'
import { z } from 'zod'
import { isCidr } from '../core/cidr.ts'
import { compareQuantities, isQuantity } from '../core/quantity.ts'

/** Types of settings, which are texts in the environment or values in a file. */

export const IntegerSetting = z.coerce.number().int()
export const PositiveIntegerSetting = IntegerSetting.min(1)
export const integerSettingInRange = (min: number, max: number) => IntegerSetting.min(min).max(max)
export const Port = integerSettingInRange(0, 65_535)
export const Flag = z.union([z.boolean(), z.stringbool()])
export const List = z.union([
  z.array(z.string()),
  z.string().transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  ),
])
const listOf = (item: z.ZodType<string, string>) => List.pipe(z.array(item))
export const listSettingMatching = (pattern: RegExp, expected: string) => listOf(z.string().regex(pattern, expected))

/** A quantity such as 4Gi. */
export const Bytes = (least: string) =>
  z
    .string()
    .max(32)
    .refine(
      (text) => isQuantity(text) && compareQuantities(text, least) >= 0,
      `expected a quantity of bytes of at least ${least}, such as 4Gi`,
    )

const isPort = (text: string) => /^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= 65_535
export const Cidrs = listOf(z.string().refine(isCidr, 'must be a CIDR, such as 10.0.0.0/8'))
export const Networks = listOf(
  z.string().refine((text) => {
    const [cidr = '', ports, ...rest] = text.split('@')
    return isCidr(cidr) && rest.length === 0 && (ports === undefined || ports.split('+').every(isPort))
  }, 'must be a CIDR, with @ and ports if not all are meant, such as 10.1.0.0/16@443+5000'),
)
/** Express also knows the last three. */
export const Proxies = listOf(
  z
    .string()
    .refine(
      (text) => isIP(text) !== 0 || isCidr(text) || /^(loopback|linklocal|uniquelocal)$/.test(text),
      'must be an address or a CIDR, such as 10.0.0.0/8',
    ),
)
const HOST = /^([a-z0-9]([a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$/
export const Host = z
  .string()
  .max(255)
  .regex(HOST, 'must be a host in lower case, with its port, such as registry:5000')
/** They are compared with the host of a URL, which has no port 443 and no upper case. */
export const Hosts = listOf(
  z
    .string()
    .refine(
      (text) => HOST.test(text) && !text.endsWith(':443'),
      'must be a host in lower case, with its port if that is not 443, such as git.example.com:8443',
    ),
)
export const Image = z
  .string()
  .max(512)
  .regex(
    /^[a-zA-Z0-9][\w.-]*(:[0-9]+)?(\/[a-z0-9][a-z0-9._-]*)*(:[\w.-]+)?(@sha256:[0-9a-f]{64})?$/,
    'must be an image, such as registry.example.com/freehold:0.1.0',
  )
export const Quantity = z.string().max(32).refine(isQuantity, 'must be a quantity, such as 2 or 2Gi')
export const OptionalText = z.string().optional()
export const Url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })
export const HttpsUrl = z.url({ protocol: /^https$/, error: 'must be an https URL' })
