import { z } from "zod";

/** An id that a client chooses: it stands in a path without escapes, where `.` and `..` would be taken for folders. */
export const publicId = z
  .string()
  .regex(
    /^(?!\.\.?$)[A-Za-z0-9._~-]{1,200}$/,
    "it must be 1 to 200 letters, digits, or . _ ~ -, and not . or ..",
  );
