/** Where a Host listens: at a TCP port (0 lets the system pick one), or at a socket in the file system. */
export type ListenAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | {
      readonly kind: "unix";
      /** Absolute. */
      readonly path: string;
    };
